package serving

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	pluginapi "k8s.io/kubelet/pkg/apis/deviceplugin/v1beta1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/injection"
	"github.com/rankwright/rankwright/pkg/nodeagent/preference"
)

func offeringOf(t *testing.T, w Wanted) *offering {
	t.Helper()
	pools, _ := sortPools(w)
	if len(pools) != 1 {
		t.Fatalf("%d pools, want 1", len(pools))
	}
	return &offering{pools[0], w.Status, preference.NewTopology(w.Status)}
}

func TestAllocate(t *testing.T) {
	shared := Config{Vendors: map[string]VendorConfig{"nvidia": {Serve: true, Injection: injection.DeviceNodes, Shares: 2}}}
	o := offeringOf(t, Wanted{Config: shared, Status: statusOf(gpu(0), gpu(1), gpu(2, health(v1alpha1.Unhealthy, "XID79")))})
	var mode injection.Mode
	var granted []v1alpha1.DeviceID
	answer := func(m injection.Mode, devices, node []v1alpha1.Device) (injection.Answer, error) {
		mode, granted = m, nil
		for _, d := range devices {
			granted = append(granted, d.ID)
		}
		if len(node) != 3 {
			t.Errorf("the node has %d devices, want 3", len(node))
		}
		return injection.Answer{
			Environment: map[string]string{"A": "b"}, CDIDevices: []string{"v/c=n"}, Paths: []string{"/dev/a"},
		}, nil
	}
	got, err := o.allocate([]string{"nvidia-1/1", "nvidia-0/0", "nvidia-1/0"}, answer)
	if err != nil {
		t.Fatal(err)
	}
	want := &pluginapi.ContainerAllocateResponse{
		Envs: map[string]string{"A": "b"}, CdiDevices: []*pluginapi.CDIDevice{{Name: "v/c=n"}},
		Devices: []*pluginapi.DeviceSpec{{HostPath: "/dev/a", ContainerPath: "/dev/a", Permissions: "rw"}},
	}
	fields := cmpopts.IgnoreUnexported(pluginapi.ContainerAllocateResponse{}, pluginapi.CDIDevice{}, pluginapi.DeviceSpec{}, pluginapi.Mount{})
	if diff := cmp.Diff(want, got, fields); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]v1alpha1.DeviceID{"nvidia-0", "nvidia-1"}, granted); diff != "" || mode != injection.DeviceNodes {
		t.Errorf("granted in mode %s (-want +got):\n%s", mode, diff)
	}
}

func TestAllocateRefuses(t *testing.T) {
	o := offeringOf(t, Wanted{
		Config: testConfig, Status: statusOf(gpu(0), gpu(1, health(v1alpha1.Unhealthy, "XID79")), gpu(2)),
		Spec: v1alpha1.AcceleratorInventorySpec{CordonedDevices: []v1alpha1.DeviceID{"nvidia-2"}},
		Busy: map[Offer]bool{{"nvidia.com/gpu", "nvidia-9"}: true},
	})
	failing := func(injection.Mode, []v1alpha1.Device, []v1alpha1.Device) (injection.Answer, error) {
		return injection.Answer{}, errors.New("no node")
	}
	tests := []struct {
		name string
		ids  []string
		code codes.Code
		want string
	}{
		{"none", nil, codes.InvalidArgument, "request at least 1"},
		{"unknown", []string{"nvidia-0", "GPU-1"}, codes.NotFound, `"GPU-1" is not offered here: delete the pod`},
		{"unhealthy", []string{"nvidia-1"}, codes.FailedPrecondition, `"nvidia-1" is Unhealthy (XID79): delete the pod`},
		{"cordoned", []string{"nvidia-2"}, codes.FailedPrecondition, `"nvidia-2" is cordoned`},
		{"gone", []string{"nvidia-9"}, codes.FailedPrecondition, `"nvidia-9" is no longer offered under nvidia.com/gpu`},
		{"no answer", []string{"nvidia-0"}, codes.Internal, "nvidia.com/gpu: no node"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			_, err := o.allocate(tc.ids, failing)
			if status.Code(err) != tc.code || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %s with %q", err, tc.code, tc.want)
			}
		})
	}
}
