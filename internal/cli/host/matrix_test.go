package host

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/clitest"
	"github.com/rankwright/rankwright/internal/cli/term"
)

func TestTopologyOfDevicesAndPorts(t *testing.T) {
	out := term.Page{Wide: true}
	shown := stored(t, "topology.yaml")
	printInventory(&out, shown, withReadings(shown.Status.Devices, nil), true, true)
	clitest.Golden(t, "topology.txt", out.String())
}

// grouping is a host of 8 domains of 8 devices on 2 NUMA nodes, a port beside each domain, and two single devices.
func grouping() *v1alpha1.AcceleratorInventoryStatus {
	status := &v1alpha1.AcceleratorInventoryStatus{}
	status.Host.NUMANodes = []v1alpha1.NUMANode{{ID: 0, CPUs: "0-63"}, {ID: 1, CPUs: "64-127"}}
	for d := range 8 {
		domain := v1alpha1.LinkDomain{Name: fmt.Sprint("hccs", d), Kind: "HCCS", Topology: v1alpha1.TopologyMesh}
		root := fmt.Sprintf("pci%04d:00", d)
		node := new(int32(d / 4))
		for i := range 8 {
			address := fmt.Sprintf("%04d:%02d:00.0", d, i)
			id := v1alpha1.DeviceID("huawei-" + address)
			domain.Members = append(domain.Members, id)
			status.Devices = append(status.Devices, v1alpha1.Device{
				ID: id, Vendor: "huawei", Family: v1alpha1.FamilyNPU, Product: "Ascend 910B", NUMANode: node,
				PCI: &v1alpha1.PCIDevice{Address: address, Root: root},
			})
		}
		status.Links.Domains = append(status.Links.Domains, domain)
		status.NICs = append(status.NICs, v1alpha1.NIC{
			Name: fmt.Sprintf("mlx5_%d/1", d), Kind: "RoCE", Gbps: 200, Up: true, NUMANode: node,
			PCI: &v1alpha1.PCIDevice{Address: fmt.Sprintf("%04d:40:00.0", d), Root: root},
		})
	}
	for i := range 2 {
		status.Devices = append(status.Devices, v1alpha1.Device{
			ID: v1alpha1.DeviceID(fmt.Sprint("nvidia-t4-", i)), Vendor: "nvidia", Family: v1alpha1.FamilyGPU,
			Product: fmt.Sprint("T4 number ", i), NUMANode: new(int32(i)),
		})
	}
	return status
}

func TestTopologyOfManyDevicesIsInGroups(t *testing.T) {
	out := term.Page{Wide: true}
	printTopology(&out, grouping())
	clitest.Golden(t, "topology-groups.txt", out.String())
	for line := range strings.Lines(out.String()) {
		if len(line) > 160 {
			t.Errorf("%d columns: %s", len(line), line)
		}
	}
}

// Ports are grouped first, and only ports that are equally near to every device.
func TestPortsAreGroupedBeforeDevices(t *testing.T) {
	status := stored(t, "topology.yaml").Status
	for i := range 30 {
		port := status.NICs[1]
		port.Name, port.PCI = fmt.Sprintf("rdmap%d/1", i), port.PCI.DeepCopy()
		port.PCI.Address = fmt.Sprintf("0000:%02x:00.0", 0xe0+i%2)
		if i%2 == 1 {
			port.PCI.Bridges = []string{"0000:00:02.1"}
		}
		status.NICs = append(status.NICs, port)
	}
	out := term.Page{Wide: true}
	printTopology(&out, &status)
	clitest.Golden(t, "topology-ports.txt", out.String())
}

func TestTopologyOfNothingAndOfTooMuch(t *testing.T) {
	one := &v1alpha1.AcceleratorInventoryStatus{Devices: grouping().Devices[:1]}
	many := &v1alpha1.AcceleratorInventoryStatus{}
	for i := range maxCompared + 1 {
		many.Devices = append(many.Devices, v1alpha1.Device{ID: v1alpha1.DeviceID(fmt.Sprint("x-", i)), Family: v1alpha1.FamilyGPU})
	}
	tests := map[string]struct {
		status *v1alpha1.AcceleratorInventoryStatus
		want   string
	}{
		"no device":   {&v1alpha1.AcceleratorInventoryStatus{}, ""},
		"one device":  {one, ""},
		"257 devices": {many, "\nTopology: 257 devices and ports are too many to show: select some, or see -o yaml.\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			out := term.Page{Wide: true}
			printTopology(&out, test.status)
			if out.String() != test.want {
				t.Errorf("%q, want %q", out.String(), test.want)
			}
		})
	}
}

// A partition has the links of the device that it is a part of, and a direct pair says more than its link domain.
func TestLinksBetweenSpots(t *testing.T) {
	spots := []spot{{devices: []v1alpha1.DeviceID{"a-0", "a-1"}}, {devices: []v1alpha1.DeviceID{"b"}}, {devices: []v1alpha1.DeviceID{"c"}}}
	links := &v1alpha1.Links{
		Domains: []v1alpha1.LinkDomain{{Kind: "XGMI", Members: []v1alpha1.DeviceID{"a-0", "a-1", "b", "c", "gone"}}},
		Pairs: []v1alpha1.LinkPair{
			{A: "a-0", B: "b", Kind: "XGMI", Count: 2},
			{A: "a-0", B: "a-1", Kind: "XGMI", Count: 4},
			{A: "b", B: "gone", Kind: "XGMI", Count: 4},
		},
	}
	words := map[[2]int]string{}
	for between, r := range linksBetween(links, spots) {
		words[between] = r.word
	}
	want := map[[2]int]string{{0, 1}: "XGMIx2", {0, 2}: "XGMI", {1, 2}: "XGMI"}
	if diff := cmp.Diff(want, words); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestGroupsAreNamedByTheirNumbers(t *testing.T) {
	tests := map[string][]int{"GPU3": {3}, "GPU0-2": {2, 0, 1}, "GPU0,2-3,9": {0, 2, 3, 9}, "GPU1+5": {1, 3, 5, 7, 9, 11}}
	for want, numbers := range tests {
		spots, cells := make([]spot, len(numbers)), make([][]relation, len(numbers))
		for i, n := range numbers {
			spots[i], cells[i] = spot{noun: "GPU", name: fmt.Sprint("GPU", n), number: n}, make([]relation, len(numbers))
		}
		groups, _ := group(spots, cells, func(int) string { return "" })
		if got := groups[0].name; got != want {
			t.Errorf("%v: %q, want %q", numbers, got, want)
		}
	}
}
