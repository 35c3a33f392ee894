package inventory

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestSort(t *testing.T) {
	tests := map[string][]string{
		"id":        {"cpu", "core0", "core1", "npu", "gaudi", "h0", "h1", "t4"},
		"best":      {"h0", "t4", "gaudi", "core0", "core1", "cpu", "h1", "npu"},
		"memory":    {"gaudi", "h0", "h1", "core0", "core1", "t4", "cpu", "npu"},
		"free":      {"gaudi", "h0", "h1", "core0", "core1", "t4", "cpu", "npu"},
		"bandwidth": {"h0", "h1", "t4", "cpu", "core0", "core1", "npu", "gaudi"},
		"product":   {"gaudi", "h0", "h1", "core0", "core1", "t4", "cpu", "npu"},
		"numa":      {"h0", "h1", "cpu", "core0", "core1", "npu", "gaudi", "t4"},
		"health":    {"h1", "npu", "cpu", "core0", "core1", "gaudi", "h0", "t4"},
	}
	for key, want := range tests {
		t.Run(key, func(t *testing.T) {
			devices := mixed().Status.Devices
			slices.Reverse(devices)
			sorted, err := Sort(devices, key)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, short(sorted)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if devices[0].ID != "nvidia-0000:03:00.0" {
				t.Error("the devices that were given are sorted")
			}
		})
	}
	if len(tests) != len(SortKeys) || len(orders) != len(SortKeys) {
		t.Errorf("%d keys, %d offered, %d tested", len(orders), len(SortKeys), len(tests))
	}
	if _, err := Sort(nil, "size"); err == nil || !strings.Contains(err.Error(), `sort key "size": use one of id, best`) {
		t.Errorf("error %v", err)
	}
}

func TestBest(t *testing.T) {
	inventory := mixed()
	if best, ok := Best(&inventory); !ok || best.ID != "nvidia-0000:01:00.0" {
		t.Errorf("%v %v, want the H100 that is not broken", best.ID, ok)
	}
	inventory.Spec.CordonedDevices = []v1alpha1.DeviceID{"nvidia-0000:01:00.0"}
	if best, _ := Best(&inventory); best.ID != "intel-0000:04:00.0" {
		t.Errorf("%v, want the Gaudi: the T4 is held by a pod", best.ID)
	}
	onlyCPU := Keep(inventory, ByFamily(v1alpha1.FamilyCPU))
	if best, ok := Best(&onlyCPU); ok {
		t.Errorf("%v on a host without accelerators", best.ID)
	}
}

func TestTheBestOrderIsTotal(t *testing.T) {
	devices := mixed().Status.Devices
	for i := range devices {
		for j := range devices {
			if order := compareBest(&devices[i], &devices[j]); (order == 0) != (i == j) || order != -compareBest(&devices[j], &devices[i]) {
				t.Errorf("%s and %s: %d", devices[i].ID, devices[j].ID, order)
			}
		}
	}
}

func TestSum(t *testing.T) {
	want := Totals{
		Total: Total{Devices: 8, Usable: 6, MemoryMiB: 2*81559 + 15360 + 98304 + 2*16384, FreeMiB: 81559 + 10240 + 98304 + 2*16384},
		ByVendor: []Total{
			{Vendor: "amd", Devices: 1, Usable: 1},
			{Vendor: "google", Devices: 2, Usable: 2, MemoryMiB: 2 * 16384, FreeMiB: 2 * 16384},
			{Vendor: "intel", Devices: 2, Usable: 1, MemoryMiB: 98304, FreeMiB: 98304},
			{Vendor: "nvidia", Devices: 3, Usable: 2, MemoryMiB: 2*81559 + 15360, FreeMiB: 81559 + 10240},
		},
		ByFamily: []Total{
			{Family: "ASIC", Devices: 1, Usable: 1, MemoryMiB: 98304, FreeMiB: 98304},
			{Family: "CPU", Devices: 1, Usable: 1},
			{Family: "GPU", Devices: 3, Usable: 2, MemoryMiB: 2*81559 + 15360, FreeMiB: 81559 + 10240},
			{Family: "NPU", Devices: 1},
			{Family: "TPU", Devices: 2, Usable: 2, MemoryMiB: 2 * 16384, FreeMiB: 2 * 16384},
		},
		ByProduct: []Total{
			{Vendor: "amd", Family: "CPU", Devices: 1, Usable: 1},
			{Vendor: "google", Family: "TPU", Product: "TPU v3", Devices: 2, Usable: 2, MemoryMiB: 2 * 16384, FreeMiB: 2 * 16384},
			{Vendor: "intel", Family: "ASIC", Product: "Gaudi2", Devices: 1, Usable: 1, MemoryMiB: 98304, FreeMiB: 98304},
			{Vendor: "intel", Family: "NPU", Devices: 1},
			{Vendor: "nvidia", Family: "GPU", Product: "NVIDIA H100 80GB HBM3", Devices: 2, Usable: 1, MemoryMiB: 2 * 81559, FreeMiB: 81559},
			{Vendor: "nvidia", Family: "GPU", Product: "Tesla T4", Devices: 1, Usable: 1, MemoryMiB: 15360, FreeMiB: 10240},
		},
	}
	if diff := cmp.Diff(want, Sum(mixed().Status.Devices)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
