package nodeagent

import (
	"context"
	"errors"
	"log/slog"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/podresources"
	"github.com/rankwright/rankwright/pkg/nodeagent/resourceapi"
)

const gpuUUID = "GPU-00000000-0000-0000-0000-000000000001"

// draGrant is a device that a pod has by a claim of NVIDIA's driver.
func draGrant(pod, claim, device string) podresources.Grant {
	return podresources.Grant{Namespace: "n", Pod: pod, Claim: claim, Name: podresources.Name{
		Server: v1alpha1.ServedByDRA, Resource: "gpu.nvidia.com", Pool: "node", Device: device,
	}}
}

// A claim with adminAccess takes no device, whichever driver served it. A claim that takes devices is read once, a claim that
// looks at devices each time.
func TestLooksTakeNoDevice(t *testing.T) {
	devices := []v1alpha1.Device{{ID: "nvidia-1", Vendor: "nvidia", UUID: gpuUUID, Index: new(int32)}}
	hardware := podresources.NewHardware(devices, nil)
	plugin := podresources.Grant{Namespace: "n", Pod: "plugin", Name: podresources.Name{Server: v1alpha1.ServedByDevicePlugin, Resource: "nvidia.com/gpu", Device: gpuUUID}}
	nic := draGrant("net", "nic", "eth0")
	nic.Name.Resource = "dra.net"
	works, looks, unread := draGrant("work", "works", "gpu-0"), draGrant("dcgm", "looks", "gpu-0"), draGrant("new", "unread", "gpu-0")
	read := map[string]int{}
	a := adminAccess{log: slog.New(slog.DiscardHandler), read: func(_ context.Context, _, name string) (map[podresources.Name]bool, error) {
		read[name]++
		if name == "unread" {
			return nil, errors.New("forbidden")
		}
		return map[podresources.Name]bool{looks.Name: name == "looks"}, nil
	}}
	grants := []podresources.Grant{plugin, nic, works, looks, unread}
	want := []podresources.Grant{plugin, nic, works, unread}
	for range 2 {
		if diff := cmp.Diff(want, a.taking(t.Context(), grants, hardware)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff(map[string]int{"works": 1, "looks": 2, "unread": 2}, read); diff != "" {
		t.Errorf("claims are read (-want +got):\n%s", diff)
	}
	a.taking(t.Context(), nil, hardware)
	a.taking(t.Context(), grants, hardware)
	if read["works"] != 2 {
		t.Errorf("a claim that was gone is read %d times", read["works"])
	}
	if got := (&adminAccess{}).taking(t.Context(), grants, hardware); len(got) != len(grants) {
		t.Errorf("without the right, %d of %d grants take devices", len(got), len(grants))
	}
}

func TestLooksOfAClaim(t *testing.T) {
	result := func(device string, admin bool) resourceapi.Result {
		return resourceapi.Result{Request: "r", Driver: "gpu.nvidia.com", Pool: "node", Device: device, AdminAccess: admin}
	}
	allocated := &resourceapi.Allocation{}
	allocated.Devices.Results = []resourceapi.Result{
		result("held", false), result("looked", true), result("both", true), result("both", false), result("again", false), result("again", true), result("twice", true), result("twice", true),
	}
	got := looksOf(allocated)
	want := map[podresources.Name]bool{}
	for device, looked := range map[string]bool{"held": false, "looked": true, "both": false, "again": false, "twice": true} {
		want[draGrant("", "", device).Name] = looked
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
