package amd_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// replayFile detects on a recording of test/recordings with every backend, and once more on a recording of that.
func replayFile(t *testing.T, name string) v1alpha1.AcceleratorInventoryStatus {
	t.Helper()
	archive, err := os.Open(filepath.Join("..", "..", "..", "test", "recordings", name))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close() //nolint:errcheck // nothing was written
	recording, err := host.ReadRecording(archive)
	if err != nil {
		t.Fatal(err)
	}
	h, again := host.Record(recording.Host())
	status := detect.Detect(t.Context(), h, detect.Options{}).Status
	if diff := cmp.Diff(status, detect.Detect(t.Context(), again.Host(), detect.Options{}).Status); diff != "" {
		t.Errorf("a recording of the detection gives another inventory: %s", diff)
	}
	return status
}

func TestRecordedMI300X(t *testing.T) {
	status := replayFile(t, "amd-mi300x-8.tar.gz")
	if got, want := status.Summary.Products, "8x AMD Instinct MI300X OAM"; got != want || status.Summary.Healthy != 8 {
		t.Fatalf("got %q, %d healthy; want %q, all healthy", got, status.Summary.Healthy, want)
	}
	buses := []string{"05", "27", "47", "65", "85", "a7", "c7", "e5"}
	var members []v1alpha1.DeviceID
	for i, device := range status.Devices {
		members = append(members, device.ID)
		if want := v1alpha1.DeviceID("amd-0000:" + buses[i] + ":00.0"); device.ID != want || device.PCI.Root != fmt.Sprintf("pci0000:%02x", i*0x20) {
			t.Errorf("got %s under %s, want %s under bridge %d", device.ID, device.PCI.Root, want, i)
		}
		if device.Memory.TotalMiB != 196592 || device.Memory.UsedByOthersMiB != 512 || device.Architecture != "CDNA3" || device.ComputeCapability != "gfx942" ||
			device.DriverVersion != "6.12.12" || *device.NUMANode != int32(i/4) || *device.Index != int32(128+8*i) {
			t.Errorf("got %+v", device)
		}
		paths := []string{"/dev/kfd", fmt.Sprint("/dev/dri/renderD", 128+8*i), fmt.Sprint("/dev/dri/card", 1+8*i)}
		if diff := cmp.Diff(paths, device.Paths); diff != "" {
			t.Error(diff)
		}
	}
	links := v1alpha1.Links{Domains: []v1alpha1.LinkDomain{{
		Name: "xgmi-0000:05:00.0", Kind: "XGMI", Topology: v1alpha1.TopologyMesh,
		Members: members, PeerMBps: 64_000, DeviceMBps: 448_000,
	}}}
	if diff := cmp.Diff(links, status.Links); diff != "" {
		t.Error(diff)
	}
	checkBackends(t, status, map[string]v1alpha1.BackendState{
		"amd": v1alpha1.BackendFound, "cpu": v1alpha1.BackendFound, "network": v1alpha1.BackendFound, "storage": v1alpha1.BackendFound,
	})
}

func TestRecordedV5P(t *testing.T) {
	status := replayFile(t, "google-v5p-4.tar.gz")
	if got, want := status.Summary.Products, "4x TPU v5p"; got != want || status.Summary.Healthy != 4 {
		t.Fatalf("got %q, %d healthy; want %q, all healthy", got, status.Summary.Healthy, want)
	}
	for i, device := range status.Devices {
		if device.ID != v1alpha1.DeviceID(fmt.Sprintf("google-0000:00:%02x.0", 4+i)) || *device.NUMANode != int32(i/2) ||
			device.Memory.TotalMiB != 95<<10 || device.Memory.Source != v1alpha1.SourceCatalogue {
			t.Errorf("got %+v", device)
		}
		if diff := cmp.Diff([]string{fmt.Sprint("/dev/vfio/", i), "/dev/vfio/vfio"}, device.Paths); diff != "" {
			t.Error(diff)
		}
	}
	if len(status.Links.Domains) != 1 || len(status.Links.Domains[0].Members) != 4 || status.Host.Cloud != "gcp" {
		t.Errorf("got links %+v, cloud %q", status.Links, status.Host.Cloud)
	}
	checkBackends(t, status, map[string]v1alpha1.BackendState{
		"cpu": v1alpha1.BackendFound, "tpu": v1alpha1.BackendFound,
	})
}

// checkBackends compares the states of the backends; those that are not named have found nothing.
func checkBackends(t *testing.T, status v1alpha1.AcceleratorInventoryStatus, want map[string]v1alpha1.BackendState) {
	t.Helper()
	got := map[string]v1alpha1.BackendState{}
	for _, backend := range status.Backends {
		if backend.State != v1alpha1.BackendAbsent {
			got[backend.Name] = backend.State
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("backends: %s", diff)
	}
}
