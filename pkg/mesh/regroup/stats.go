package regroup

import (
	"cmp"
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/mesh"
)

// Stats are counts and sums over the devices of a layout.
type Stats struct {
	Ranks, Nodes int
	// MemoryMiB and GFLOPS (of BF16) are sums; a device counts as 0 where its figure is not known.
	MemoryMiB, GFLOPS int64
	// Backends counts devices by detection backend, Groups the groups of each name but of products.
	Backends, Groups map[string]int
}

// Stats counts the devices, their memory and rates, and the groups.
func (l *Layout) Stats() (Stats, error) {
	s := Stats{Ranks: len(l.seats), Nodes: len(l.Nodes()), Backends: map[string]int{}, Groups: map[string]int{}}
	for i := range l.seats {
		s.MemoryMiB += l.seats[i].MemoryMiB
		s.GFLOPS += l.seats[i].GFLOPS
	}
	for name, ranks := range l.ByBackend() {
		s.Backends[name] = len(ranks)
	}
	for _, name := range l.GroupNames() {
		groups, err := l.Group(name)
		if err != nil {
			return Stats{}, err
		}
		s.Groups[name] = len(groups)
	}
	return s, nil
}

// Library returns the communication library of the groups of a name. It refuses groups whose members have no library in common.
func (l *Layout) Library(name string, engine v1alpha1.Engine) (mesh.Library, error) {
	groups, err := l.Group(name)
	if err != nil {
		return mesh.Library{}, err
	}
	var common mesh.Library
	for i, group := range groups {
		hardware := make([]mesh.Hardware, len(group))
		for j, rank := range group {
			hardware[j] = l.seats[rank].Hardware
		}
		library, err := mesh.CommonLibrary(hardware, engine)
		if err != nil {
			return mesh.Library{}, fmt.Errorf("group %s %v: %w", name, group, err)
		}
		switch {
		case i == 0:
			common = library
		case library != common:
			return mesh.Library{}, fmt.Errorf("groups of %s have different libraries, %s on ranks %v and %s on ranks %v: ask for each by itself", name, common, groups[0], library, group)
		}
	}
	return common, nil
}

// OnNode returns the ranks on a node, ascending.
func (l *Layout) OnNode(node string) []int32 {
	var ranks []int32
	for rank := range l.seats {
		if l.seats[rank].Node == node {
			ranks = append(ranks, int32(rank))
		}
	}
	return ranks
}

// Nodes returns the names of the nodes in order of their first ranks.
func (l *Layout) Nodes() []string {
	nodes, seen := []string{}, map[string]bool{}
	for i := range l.seats {
		if name := l.seats[i].Node; !seen[name] {
			seen[name] = true
			nodes = append(nodes, name)
		}
	}
	return nodes
}

// ByBackend returns the ranks by the detection backend of their devices, or by vendor where the backend is not known.
func (l *Layout) ByBackend() map[string][]int32 {
	found := map[string][]int32{}
	for rank := range l.seats {
		name := cmp.Or(l.seats[rank].Backend, l.seats[rank].Vendor)
		found[name] = append(found[name], int32(rank))
	}
	return found
}
