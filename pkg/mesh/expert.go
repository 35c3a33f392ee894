package mesh

import (
	"fmt"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
)

// ExpertGroups lists the expert-parallel groups of a size as the engine forms them from the mesh's other ranks, and the
// dimensions along which their members differ. A size of 0 means the engine's largest group. It refuses a size that the
// ranks cannot be divided into.
func (m *Mesh) ExpertGroups(of v1alpha1.Engine, size int) ([][]int32, []string, error) {
	e, err := engine.Find(of)
	if err != nil {
		return nil, nil, err
	}
	rule := &e.Ranks.Experts
	over := slices.DeleteFunc(slices.Clone(rule.Over), func(name string) bool { return !slices.Contains(m.names, name) })
	wide, err := m.Groups(over...)
	if err != nil {
		return nil, nil, fmt.Errorf("expert groups of %s: %w", e.Name, err)
	}
	ranks := len(wide[0])
	switch {
	case size == 0:
		size = ranks
	case size < 0 || ranks%size != 0:
		return nil, nil, fmt.Errorf("expert size %d does not divide the %d ranks of %v that share the experts of a stage in %s", size, ranks, over, e.Name)
	case rule.Whole && size != ranks:
		return nil, nil, fmt.Errorf("expert size %d: %s shares experts among all %d ranks of %v in a stage: set it to %d", size, e.Name, ranks, over, ranks)
	}
	groups := make([][]int32, 0, m.world/size)
	for _, group := range wide {
		groups = append(groups, divide(group, size, rule.Strided)...)
	}
	// The parts of one wide group lie between the parts of others: sorted by first rank they have the order of Groups.
	slices.SortFunc(groups, func(a, b []int32) int { return int(a[0] - b[0]) })
	return groups, over, nil
}

// divide cuts a group into groups of a size: neighbours, or every len/size-th member.
func divide(group []int32, size int, strided bool) [][]int32 {
	if !strided {
		return slices.Collect(slices.Chunk(group, size))
	}
	step := len(group) / size
	groups := make([][]int32, step)
	for i, rank := range group {
		groups[i%step] = append(groups[i%step], rank)
	}
	return groups
}
