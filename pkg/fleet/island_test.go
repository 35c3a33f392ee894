package fleet

import (
	"fmt"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// What an inventory says of links, ports and disks comes to rates.
func TestWires(t *testing.T) {
	domain := v1alpha1.LinkDomain{Name: "hive", Kind: "XGMI", Topology: v1alpha1.TopologyMesh, PeerMBps: 64000}
	for name, test := range map[string]struct {
		change func(*v1alpha1.AcceleratorInventoryStatus)
		want   Wires
	}{
		"PCIe": {func(s *v1alpha1.AcceleratorInventoryStatus) { s.Links.Domains = nil }, Wires{}},
		"mesh by its peers": {
			func(*v1alpha1.AcceleratorInventoryStatus) {},
			Wires{Link: true, Topology: v1alpha1.TopologyMesh, Rate: 7 * 64e9, Peer: 64e9},
		},
		"switch": {
			func(s *v1alpha1.AcceleratorInventoryStatus) {
				d := &s.Links.Domains[0]
				d.Topology, d.DeviceMBps, d.PeerMBps = v1alpha1.TopologySwitch, 450000, 0
			},
			Wires{Link: true, Topology: v1alpha1.TopologySwitch, Rate: 450e9, Peer: 450e9},
		},
		"a port for each device, and one more": {
			func(s *v1alpha1.AcceleratorInventoryStatus) {
				for i := range 9 {
					s.NICs = append(s.NICs, v1alpha1.NIC{Name: fmt.Sprint("mlx5_", i), Kind: v1alpha1.NICInfiniBand, Gbps: 400, Up: true})
				}
			},
			Wires{Link: true, Topology: v1alpha1.TopologyMesh, Rate: 7 * 64e9, Peer: 64e9, Network: 50e9, Source: 50e9},
		},
		"one port for all, Ethernet aside": {
			func(s *v1alpha1.AcceleratorInventoryStatus) {
				s.NICs = []v1alpha1.NIC{
					{Name: "eth0", Kind: v1alpha1.NICEthernet, Gbps: 100, Up: true},
					{Name: "a", Kind: v1alpha1.NICRoCE, Gbps: 200, Up: true},
					{Name: "b", Kind: v1alpha1.NICRoCE, Gbps: 400},
				}
			},
			Wires{Link: true, Topology: v1alpha1.TopologyMesh, Rate: 7 * 64e9, Peer: 64e9, Network: 25e9 / 8, Source: 25e9},
		},
		"Ethernet, disks": {
			func(s *v1alpha1.AcceleratorInventoryStatus) {
				s.NICs = []v1alpha1.NIC{{Name: "eth0", Kind: v1alpha1.NICEthernet, Gbps: 80, Up: true}}
				s.Storage = []v1alpha1.StorageDevice{{Kind: v1alpha1.StorageHDD}, {Kind: v1alpha1.StorageNVMe}, {Kind: v1alpha1.StorageUnknown}}
			},
			Wires{Link: true, Topology: v1alpha1.TopologyMesh, Rate: 7 * 64e9, Peer: 64e9, Network: 10e9 / 8, Source: 10e9},
		},
	} {
		t.Run(name, func(t *testing.T) {
			i := inventory("a", "b", "c", "d", "e", "f", "g", "h")
			own := domain
			for _, d := range i.Status.Devices {
				own.Members = append(own.Members, d.ID)
			}
			i.Status.Links.Domains = []v1alpha1.LinkDomain{own}
			test.change(&i.Status)
			c := NewCluster([]Node{{Name: "n", Inventory: &i}})
			if got := c.Nodes()[0].Islands[0].Wires; got != test.want {
				t.Errorf("got %+v, want %+v", got, test.want)
			}
		})
	}
}
