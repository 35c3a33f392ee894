package mesh

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Stats are counts and sums over the devices of a layout.
type Stats struct {
	Ranks, Nodes int
	// MemoryMiB and GFLOPS (of BF16) are sums; devices of which they are not known count as 0.
	MemoryMiB, GFLOPS int64
	// Backends counts devices by detection backend, Groups the groups of each name but of products.
	Backends, Groups map[string]int
}

// Stats counts.
func (l *Layout) Stats() (Stats, error) {
	s := Stats{Ranks: l.world, Nodes: len(l.counts), Backends: map[string]int{}, Groups: map[string]int{}}
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

// Library is the communication library of the groups of a name. It refuses groups whose members have none in common.
func (l *Layout) Library(name string, engine v1alpha1.Engine) (Library, error) {
	groups, err := l.Group(name)
	if err != nil {
		return Library{}, err
	}
	var common Library
	for i, group := range groups {
		hardware := make([]Hardware, len(group))
		for j, rank := range group {
			hardware[j] = l.seats[rank].Hardware
		}
		library, err := CommonLibrary(hardware, engine)
		if err != nil {
			return Library{}, fmt.Errorf("group %s %v: %w", name, group, err)
		}
		switch {
		case i == 0:
			common = library
		case library != common:
			return Library{}, fmt.Errorf("groups of %s have different libraries, %s on ranks %v and %s on ranks %v: ask for each by itself", name, common.text(), groups[0], library.text(), group)
		}
	}
	return common, nil
}
