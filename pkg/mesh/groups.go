package mesh

import (
	"errors"
	"fmt"
	"slices"
)

// Groups lists the process groups whose members differ along the named dimensions and agree in all others. Groups come
// in order of the coordinates they share, the order's first dimension fastest; members in the order of the coordinates in
// which they differ. Every rank is in exactly one group. The order of the arguments does not matter; none, unknown and
// repeated names are refused.
func (m *Mesh) Groups(dimensions ...string) ([][]int32, error) {
	inside, err := m.mark(dimensions)
	if err != nil {
		return nil, err
	}
	outside := make([]bool, len(inside))
	for i, in := range inside {
		outside[i] = !in
	}
	members, bases := m.offsets(inside), m.offsets(outside)
	ranks := make([]int32, m.world)
	groups := make([][]int32, len(bases))
	for i, base := range bases {
		group := ranks[i*len(members) : (i+1)*len(members) : (i+1)*len(members)]
		for j, offset := range members {
			group[j] = base + offset
		}
		groups[i] = group
	}
	return groups, nil
}

// World returns the one group of all ranks.
func (m *Mesh) World() []int32 { return m.offsets(slices.Repeat([]bool{true}, len(m.names))) }

// mark marks the dimensions that are named.
func (m *Mesh) mark(dimensions []string) ([]bool, error) {
	if len(dimensions) == 0 {
		return nil, errors.New("a process group needs at least one dimension along which its members differ")
	}
	marked := make([]bool, len(m.names))
	for _, name := range dimensions {
		i := m.index(name)
		if i < 0 {
			return nil, fmt.Errorf("the order %q has no dimension %q", m.Order(), name)
		}
		if marked[i] {
			return nil, fmt.Errorf("dimension %q is named twice in one group: remove one of them", name)
		}
		marked[i] = true
	}
	return marked, nil
}

// offsets lists the sums of coordinate times stride over the marked dimensions, the fastest dimension first; since the
// strides grow they ascend.
func (m *Mesh) offsets(marked []bool) []int32 {
	offsets := []int32{0}
	for i, in := range marked {
		if !in || m.sizes[i] == 1 {
			continue
		}
		shorter := offsets
		offsets = make([]int32, 0, len(shorter)*m.sizes[i])
		for at := range m.sizes[i] {
			step := int32(at * m.strides[i])
			for _, offset := range shorter {
				offsets = append(offsets, offset+step)
			}
		}
	}
	return offsets
}
