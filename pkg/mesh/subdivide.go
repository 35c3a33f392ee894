package mesh

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Sub is the part of the mesh in which some coordinates are fixed: a mesh of the same order in which the fixed dimensions
// have size 1, and the rank in the whole mesh of each of its ranks, rising. It refuses names and coordinates that the mesh
// lacks.
func (m *Mesh) Sub(fixed map[string]int) (*Mesh, []int32, error) {
	base, err := m.Rank(fixed)
	if err != nil {
		return nil, nil, fmt.Errorf("sub-mesh: %w", err)
	}
	sizes, free := map[string]int{}, make([]bool, len(m.names))
	for i, name := range m.names {
		if _, at := fixed[name]; !at {
			sizes[name], free[i] = m.sizes[i], true
		}
	}
	part, err := New(m.Order(), sizes)
	if err != nil {
		return nil, nil, fmt.Errorf("sub-mesh: %w", err)
	}
	ranks := m.offsets(free)
	for i := range ranks {
		ranks[i] += int32(base)
	}
	return part, ranks, nil
}

// Unflatten cuts a dimension into several, the fastest first: a tensor degree of 8 into a 2 x 4 grid, say. Ranks stay what
// they are. It refuses parts whose product is not the dimension's size.
func (m *Mesh) Unflatten(dimension string, parts ...v1alpha1.MeshDimension) (*Mesh, error) {
	at := m.index(dimension)
	if at < 0 {
		return nil, fmt.Errorf("the order %q has no dimension %q", m.Order(), dimension)
	}
	names := slices.Delete(slices.Clone(m.names), at, at+1)
	sizes := map[string]int{}
	for i, name := range m.names {
		if i != at {
			sizes[name] = m.sizes[i]
		}
	}
	product, texts := 1, make([]string, len(parts))
	for i, part := range parts {
		if slices.Contains(names, part.Name) {
			return nil, fmt.Errorf("dimension %q is in the order %q already: name the part otherwise", part.Name, m.Order())
		}
		names = slices.Insert(names, at+i, part.Name)
		sizes[part.Name], texts[i] = int(part.Size), fmt.Sprintf("%s=%d", part.Name, part.Size)
		if part.Size < 1 || int(part.Size) > MaxWorldSize/product {
			return nil, fmt.Errorf("%s of dimension %q: a part must be 1 to %d", texts[i], dimension, MaxWorldSize/product)
		}
		product *= int(part.Size)
	}
	if product != m.sizes[at] {
		return nil, fmt.Errorf("%s is %d, and %s is %d: the parts of a dimension must multiply to its size", strings.Join(texts, " x "), product, dimension, m.sizes[at])
	}
	return New(strings.Join(names, "-"), sizes)
}

// Flatten joins neighbouring dimensions of the order to one, in the place of the fastest. Ranks stay what they are. It
// refuses dimensions between which others lie: their product is a group, but no dimension.
func (m *Mesh) Flatten(name string, dimensions ...string) (*Mesh, error) {
	inside, err := m.mark(dimensions)
	if err != nil {
		return nil, err
	}
	first := slices.Index(inside, true)
	if last := first + len(dimensions); slices.Contains(inside[first:last], false) {
		return nil, fmt.Errorf("dimensions %v do not follow one another in the order %q: only neighbours can be joined", dimensions, m.Order())
	}
	sizes, product := map[string]int{}, 1
	for i, other := range m.names {
		if inside[i] {
			product *= m.sizes[i]
		} else {
			sizes[other] = m.sizes[i]
		}
	}
	names := slices.Delete(slices.Clone(m.names), first, first+len(dimensions))
	if slices.Contains(names, name) {
		return nil, fmt.Errorf("dimension %q is in the order %q already: name the product otherwise", name, m.Order())
	}
	sizes[name] = product
	return New(strings.Join(slices.Insert(names, first, name), "-"), sizes)
}

// Leaders are the ranks that stand for the others of their copy: those at 0 in all dimensions but the named ones, which
// number independent copies of the model. Requests go to a leader.
func (m *Mesh) Leaders(copies ...string) ([]int32, error) {
	if len(copies) == 0 {
		return []int32{0}, nil
	}
	inside, err := m.mark(copies)
	if err != nil {
		return nil, err
	}
	return m.offsets(inside), nil
}

// sizesOf are the sizes of all dimensions by name.
func (m *Mesh) sizesOf() map[string]int {
	sizes := make(map[string]int, len(m.names))
	for i, name := range m.names {
		sizes[name] = m.sizes[i]
	}
	return sizes
}
