package synthetic

import (
	"fmt"
	"hash/fnv"
	"net/netip"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
)

// nodes returns n nodes numbered from 0, with the fabrics of a cluster of so many.
func (s *Shape) nodes(n, of int) []fleet.Node {
	template := s.inventory()
	nodes := make([]fleet.Node, n)
	for i := range nodes {
		name := fmt.Sprintf("%s-%05d", s.Name, i)
		inventory := template.DeepCopy()
		inventory.Name = name
		status := &inventory.Status
		status.Links.Domains = s.domains(status.Devices, i, of)
		for j := range status.Devices {
			status.Devices[j].UUID = uuid(name, &status.Devices[j])
		}
		nodes[i] = fleet.Node{Name: name, Address: s.address(i), Labels: s.labels(name, i), Inventory: inventory}
	}
	return nodes
}

// uuid returns a made-up id in the form that GPUs' drivers report; empty for other devices.
func uuid(node string, d *v1alpha1.Device) string {
	if d.Family != v1alpha1.FamilyGPU {
		return ""
	}
	h := hash(node + "/" + string(d.ID))
	return fmt.Sprintf("GPU-%08x-0000-4000-8000-%012x", h>>32, h&(1<<48-1))
}

// address returns the address of the i-th node in 10.0.0.0/8, of which each shape has 2^17.
func (s *Shape) address(i int) string {
	at := slices.Index(Names(), s.Name)<<17 + i + 1
	return netip.AddrFrom4([4]byte{10, byte(at >> 16), byte(at >> 8), byte(at)}).String()
}

func hash(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	return h.Sum64()
}
