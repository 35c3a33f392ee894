package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Hosts of AMD, Google, Huawei and of vendors without a backend on which detection once was wrong.
func TestOtherCaptures(t *testing.T) {
	replayCaptures(t, []capture{
		{"amd-strix-halo", func(t *testing.T, host *capturedHost) {
			checkIntegrated(t, host, "Radeon 8060S", &v1alpha1.DeviceMemory{
				TotalMiB: 96 << 10, Source: v1alpha1.SourceKernel,
				Shared: &v1alpha1.SharedMemory{CarveOutMiB: 96 << 10, HostMiB: 16 << 10},
			})
		}},
		// The recorded kernel (6.8) gives work what is set aside and no more.
		{"lact-amd-phoenix", func(t *testing.T, host *capturedHost) {
			checkIntegrated(t, host, "Radeon 780M", &v1alpha1.DeviceMemory{
				TotalMiB: 4 << 10, Source: v1alpha1.SourceKernel,
				Shared: &v1alpha1.SharedMemory{CarveOutMiB: 4 << 10, HostMiB: 29977},
			})
		}},
		{"lact-amd-strixpoint", func(t *testing.T, host *capturedHost) {
			checkIntegrated(t, host, "Radeon 880M", nil)
			if message := host.Status.Devices[0].Health.Message; !strings.Contains(message, "512 MiB") || !strings.Contains(message, "15.3 GiB") {
				t.Errorf("%q does not say both memories", message)
			}
		}},
		{"lact-amd-vangogh", func(t *testing.T, host *capturedHost) { checkIntegrated(t, host, "Van Gogh", nil) }},
		{"lact-amd-rx6900xt", checkNULPadding},
		{"amd-mi308x-cpx-nokfd", checkPartitionsWithoutKFD},
		{"google-tpu7x-8fn", checkTPU7x},
		{"huawei-910b4-pod", checkOmittedNPU},
		{"misc-unknown", checkUnknownAccelerators},
	})
}

// checkIntegrated fails where the host has not one GPU of a processor, with that memory and offered only where it has any.
func checkIntegrated(t *testing.T, host *capturedHost, product string, memory *v1alpha1.DeviceMemory) {
	t.Helper()
	if len(host.Status.Devices) != 1 {
		t.Fatalf("%d devices, want 1", len(host.Status.Devices))
	}
	d := &host.Status.Devices[0]
	if d.Family != v1alpha1.FamilyGPU || !strings.Contains(d.Product, product) {
		t.Errorf("%s %q, want a GPU %s", d.Family, d.Product, product)
	}
	if diff := cmp.Diff(memory, d.Memory, cmpopts.IgnoreFields(v1alpha1.DeviceMemory{}, "UsedByOthersMiB")); diff != "" {
		t.Error(diff)
	}
	usable := memory != nil
	if label := host.label("accelerator") == "true"; d.Usable() != usable || label != usable {
		t.Errorf("usable %v, label %v, want %v: %s", d.Usable(), label, usable, d.Health.Message)
	}
}

func checkNULPadding(t *testing.T, host *capturedHost) {
	if len(host.Status.Devices) != 1 {
		t.Fatalf("%d devices, want 1", len(host.Status.Devices))
	}
	d := &host.Status.Devices[0]
	if d.PCI.DeviceID != "73bf" || strings.Trim(d.Product, "\x00 ") == "" || strings.Contains(d.Product, "\x00") {
		t.Errorf("%s has the product %q", d.PCI.DeviceID, d.Product)
	}
	if d.Memory == nil || d.Memory.TotalMiB != 16368 || d.Health.State != v1alpha1.Healthy {
		t.Errorf("memory %+v, health %+v", d.Memory, d.Health)
	}
	if busy := host.Readings[d.ID].UtilizationPercent; busy == nil || *busy != 3 {
		t.Errorf("utilization %v, want gpu_busy_percent", busy)
	}
}

// 4 partitions of each of 8 cards, each by a render node of its own, though nothing of KFD can be read.
func checkPartitionsWithoutKFD(t *testing.T, host *capturedHost) {
	devices(t, host, 32, "AMD Instinct MI308X", 49148, v1alpha1.SourceKernel)
	nodes := map[string]bool{}
	for i := range host.Status.Devices {
		d := &host.Status.Devices[i]
		if d.Partition == nil || d.Partition.Profile != "CPX/NPS1" || !d.Usable() || len(d.Paths) != 3 {
			t.Errorf("%s: partition %+v, paths %v, health %+v", d.ID, d.Partition, d.Paths, d.Health)
			continue
		}
		nodes[d.Paths[1]] = true
	}
	if len(nodes) != 32 || !nodes["/dev/dri/renderD128"] || !nodes["/dev/dri/renderD187"] {
		t.Errorf("%d render nodes for 32 partitions: %v", len(nodes), nodes)
	}
}

func checkTPU7x(t *testing.T, host *capturedHost) {
	devices(t, host, 8, "TPU7x (Ironwood)", 96<<10, v1alpha1.SourceCatalogue)
	chips := map[v1alpha1.DeviceID]int{}
	for i := range host.Status.Devices {
		if part := host.Status.Devices[i].Partition; part != nil {
			chips[part.Parent]++
		}
	}
	if len(chips) != 4 {
		t.Errorf("devices by chip: %v, want 4 chips of 2", chips)
	}
	if link := host.label("google.link"); link != "ICI" {
		t.Errorf("linked by %q", link)
	}
}

func checkOmittedNPU(t *testing.T, host *capturedHost) {
	want := map[v1alpha1.DeviceID]bool{"huawei-0000:01:00.0": false, "huawei-0000:82:00.0": true, "huawei-0000:c1:00.0": true}
	got := map[v1alpha1.DeviceID]bool{}
	for i := range host.Status.Devices {
		d := &host.Status.Devices[i]
		got[d.ID] = d.Usable()
		if !d.Usable() && (d.Health.Reason != "NotListed" || d.Health.Message == "") {
			t.Errorf("%s: health %+v gives no reason", d.ID, d.Health)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("usable devices: %s", diff)
	}
}

func checkUnknownAccelerators(t *testing.T, host *capturedHost) {
	var vendors []string
	for i := range host.Status.Devices {
		d := &host.Status.Devices[i]
		vendors = append(vendors, d.Vendor)
		if d.Memory != nil || d.Performance != nil || d.Usable() || d.Product == "" {
			t.Errorf("%+v: want a name, nothing claimed of it, and nobody to use it", d)
		}
	}
	want := []string{"cambricon", "coral", "enflame", "hygon", "iluvatar", "kunlunxin", "metax", "rebellions", "xilinx"}
	if diff := cmp.Diff(want, vendors); diff != "" {
		t.Error(diff)
	}
	if label := host.label("accelerator"); label != "" {
		t.Errorf("accelerator=%s for devices of unknown memory", label)
	}
}
