package whatif

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/inventory"
)

// host has an H100 and a T4 that a pod holds, with a link between them, and two linked cores of a TPU chip.
func host() v1alpha1.AcceleratorInventory {
	device := func(id v1alpha1.DeviceID, family v1alpha1.DeviceFamily, product string, mib int64) v1alpha1.Device {
		return v1alpha1.Device{
			ID: id, Vendor: id.Vendor(), Family: family, Product: product, Memory: &v1alpha1.DeviceMemory{TotalMiB: mib},
			Health: v1alpha1.DeviceHealth{State: v1alpha1.Healthy},
		}
	}
	devices := []v1alpha1.Device{
		device("google-0000:05:00.0-0", v1alpha1.FamilyTPU, "TPU v3", 16384), device("google-0000:05:00.0-1", v1alpha1.FamilyTPU, "TPU v3", 16384),
		device("nvidia-0000:01:00.0", v1alpha1.FamilyGPU, "NVIDIA H100 80GB HBM3", 81559), device("nvidia-0000:03:00.0", v1alpha1.FamilyGPU, "Tesla T4", 15360),
	}
	made := v1alpha1.AcceleratorInventory{Status: v1alpha1.AcceleratorInventoryStatus{
		Devices: devices,
		Links: v1alpha1.Links{
			Domains: []v1alpha1.LinkDomain{{Name: "x", Kind: "NVLink", Topology: v1alpha1.TopologyMesh, Members: []v1alpha1.DeviceID{devices[2].ID, devices[3].ID}}},
			Pairs:   []v1alpha1.LinkPair{{A: devices[0].ID, B: devices[1].ID, Kind: "ICI", Count: 1}},
		},
		Allocations: []v1alpha1.Allocation{{Device: devices[3].ID, Namespace: "default", Pod: "a"}},
	}}
	made.Status.Summary = inventory.Summarize(made.Spec, &made.Status)
	return made
}

func TestAddedDevicesAreLinkedOnlyAsWholeDomains(t *testing.T) {
	type domain struct {
		Name, Kind   string
		Topology     v1alpha1.DomainTopology
		Device, Peer int64
		Members      int
	}
	tests := map[string]struct {
		product string
		count   int
		want    []domain
	}{
		"8 that a switch connects": {
			"NVIDIA H100 80GB HBM3", 8,
			[]domain{{"nvlink-nvidia-added-0000", "NVLink", v1alpha1.TopologySwitch, 450_000, 450_000, 8}},
		},
		"4 of those":     {"NVIDIA H100 80GB HBM3", 4, nil},
		"4 without link": {"NVIDIA L40S", 4, nil},
		"2 full meshes": {
			"AMD Instinct MI300X", 16,
			[]domain{
				{"xgmi-amd-added-0000", "XGMI", v1alpha1.TopologyMesh, 448_000, 64_000, 8},
				{"xgmi-amd-added-0008", "XGMI", v1alpha1.TopologyMesh, 448_000, 64_000, 8},
			},
		},
		"all to all": {
			"HL-225 (Gaudi2)", 8,
			[]domain{{"roce-intel-added-0000", "RoCE", v1alpha1.TopologyMesh, 262_500, 37_500, 8}},
		},
		"a fabric beyond the host": {"NVIDIA GB200", 4, nil},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			edited, err := Add(v1alpha1.AcceleratorInventory{}, test.product, test.count)
			if err != nil {
				t.Fatal(err)
			}
			var got []domain
			for _, d := range edited.Status.Links.Domains {
				got = append(got, domain{d.Name, d.Kind, d.Topology, d.DeviceMBps, d.PeerMBps, len(d.Members)})
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if s := edited.Status.Summary; int(s.Devices) != test.count || int(s.Healthy) != test.count {
				t.Errorf("summary %+v", s)
			}
		})
	}
}

func TestAddedDevicesAreWhatTheCatalogueSays(t *testing.T) {
	before := host()
	copied := before.DeepCopy()
	edited, err := Add(before, "nvidia h100 80gb hbm3", 1)
	if err != nil {
		t.Fatal(err)
	}
	if edited, err = Add(edited, "NVIDIA L40S", 1); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(copied, &before); diff != "" {
		t.Errorf("the inventory was changed:\n%s", diff)
	}
	first, second := edited.Status.Device("nvidia-added-0000"), edited.Status.Device("nvidia-added-0001")
	if first == nil || second == nil {
		t.Fatalf("no such devices among %d", len(edited.Status.Devices))
	}
	if first.Product != "NVIDIA H100 80GB HBM3" || first.Memory.TotalMiB != 81559 || !first.Usable() || first.Performance.MemoryBandwidthMBps == 0 {
		t.Errorf("%+v", first)
	}
	if second.Product != "NVIDIA L40S" {
		t.Errorf("%+v", second)
	}
	if edited.Status.Summary.Devices != 6 || edited.Status.Summary.MemoryMiB != before.Status.Summary.MemoryMiB+81559+46068 {
		t.Errorf("summary %+v", edited.Status.Summary)
	}
	changes := inventory.Diff(&before.Status, &edited.Status)
	want := []inventory.Change{
		{Kind: inventory.Added, What: "Device", Name: "nvidia-added-0000"},
		{Kind: inventory.Added, What: "Device", Name: "nvidia-added-0001"},
	}
	if diff := cmp.Diff(want, changes); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func TestReplace(t *testing.T) {
	edited, err := Replace(host(), inventory.ByVendor("nvidia"), "NVIDIA H100 NVL")
	if err != nil {
		t.Fatal(err)
	}
	if edited.Status.Device("google-0000:05:00.0-0") == nil || len(edited.Status.Devices) != 4 {
		t.Errorf("others than the selected ones went: %+v", edited.Status.Devices)
	}
	if got := len(inventory.Pick(edited.Status.Devices, inventory.ByProduct("H100 NVL"))); got != 2 {
		t.Errorf("%d in place of 2", got)
	}
	if len(edited.Status.Links.Domains) != 0 || len(edited.Status.Links.Pairs) != 1 || len(edited.Status.Allocations) != 0 {
		t.Errorf("links %+v, allocations %v", edited.Status.Links, edited.Status.Allocations)
	}
}

func TestRemoveDevicesThatAreAllocated(t *testing.T) {
	edited := Remove(host(), inventory.ByProduct("T4"))
	if edited.Status.Device("nvidia-0000:03:00.0") != nil || len(edited.Status.Devices) != 3 || len(edited.Status.Allocations) != 0 {
		t.Errorf("devices %+v, allocations %v", edited.Status.Devices, edited.Status.Allocations)
	}
}

func TestEditsThatCannotBe(t *testing.T) {
	full := v1alpha1.AcceleratorInventory{}
	full.Status.Devices = make([]v1alpha1.Device, inventory.MaxDevices)
	tests := map[string]struct {
		edit func() (v1alpha1.AcceleratorInventory, error)
		want string
	}{
		"unknown product": {
			func() (v1alpha1.AcceleratorInventory, error) { return Add(host(), "NVIDIA H1000", 1) },
			`device "NVIDIA H1000" is not in the catalogue: did you mean`,
		},
		"none": {
			func() (v1alpha1.AcceleratorInventory, error) { return Add(host(), "NVIDIA L40S", 0) },
			"add from 1 to 1020",
		},
		"more than an inventory holds": {
			func() (v1alpha1.AcceleratorInventory, error) { return Add(full, "NVIDIA L40S", 1) },
			"an inventory holds 1024 and has 1024",
		},
		"replace nothing": {
			func() (v1alpha1.AcceleratorInventory, error) { return Replace(host(), inventory.Any(), "NVIDIA L40S") },
			"no device is selected",
		},
		"replace by the unknown": {
			func() (v1alpha1.AcceleratorInventory, error) { return Replace(host(), inventory.All(), "x") },
			"is not in the catalogue",
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if _, err := test.edit(); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}
