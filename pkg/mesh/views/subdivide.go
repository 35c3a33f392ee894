package views

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/mesh"
)

// Filling makes a mesh in which one dimension takes what the others leave of the devices, as data parallelism does in
// Megatron and a size of -1 in PyTorch. If a size is given for that dimension all the same, it must agree. It refuses sizes that
// leave a remainder, and what mesh.ForWorld refuses.
func Filling(world int, order, dimension string, sizes map[string]int) (*mesh.Mesh, error) {
	filled := map[string]int{}
	maps.Copy(filled, sizes)
	if filled[dimension] == 0 {
		delete(filled, dimension)
		others, err := mesh.New(order, filled)
		if err != nil {
			return nil, err
		}
		ranks := others.WorldSize()
		if left := world % ranks; left != 0 && ranks < world {
			return nil, fmt.Errorf("%s makes %s, which do not divide the %s: %d would be left over; change a size or the number of devices",
				others.Shape(), words.Counted(ranks, "rank"), words.Counted(world, "device"), left)
		}
		filled[dimension] = max(1, world/ranks)
	}
	return mesh.ForWorld(world, order, filled)
}

// RowMajor makes a mesh from names and sizes of which the last is the fastest, as in PyTorch's init_device_mesh,
// DeepSpeed's ProcessTopology and JAX's Mesh. It refuses lists of different lengths besides what mesh.New refuses.
func RowMajor(names []string, sizes []int) (*mesh.Mesh, error) {
	if len(names) != len(sizes) {
		return nil, fmt.Errorf("%d names of dimensions and %d sizes: give one size for each name", len(names), len(sizes))
	}
	bySize := make(map[string]int, len(names))
	for i, name := range names {
		bySize[name] = sizes[i]
	}
	fastestFirst := slices.Clone(names)
	slices.Reverse(fastestFirst)
	return mesh.New(strings.Join(fastestFirst, "-"), bySize)
}

// Sub returns the part of a mesh in which some coordinates are fixed: a mesh of the same order whose fixed dimensions have size
// 1, and by its ranks the ranks in the whole mesh, ascending. It refuses names and coordinates that the mesh
// lacks.
func Sub(m *mesh.Mesh, fixed map[string]int) (*mesh.Mesh, []int32, error) {
	base, err := m.Rank(fixed)
	if err != nil {
		return nil, nil, fmt.Errorf("sub-mesh: %w", err)
	}
	var free []string
	sizes := sizesOf(m)
	for _, name := range namesOf(m) {
		if _, at := fixed[name]; at {
			delete(sizes, name)
		} else {
			free = append(free, name)
		}
	}
	part, err := mesh.New(m.Order(), sizes)
	if err != nil {
		return nil, nil, fmt.Errorf("sub-mesh: %w", err)
	}
	if len(free) == 0 {
		return part, []int32{int32(base)}, nil
	}
	groups, err := m.Groups(free...)
	if err != nil {
		return nil, nil, fmt.Errorf("sub-mesh: %w", err)
	}
	return part, groups[slices.IndexFunc(groups, func(g []int32) bool { return g[0] == int32(base) })], nil
}

// Unflatten cuts a dimension into several, the fastest first: a tensor degree of 8 into a 2 x 4 grid, say. Ranks stay what
// they are. It refuses parts whose product is not the dimension's size.
func Unflatten(m *mesh.Mesh, dimension string, parts ...v1alpha1.MeshDimension) (*mesh.Mesh, error) {
	names, sizes := namesOf(m), sizesOf(m)
	at := slices.Index(names, dimension)
	if at < 0 {
		return nil, fmt.Errorf("the order %q has no dimension %q", m.Order(), dimension)
	}
	whole := sizes[dimension]
	names = slices.Delete(names, at, at+1)
	delete(sizes, dimension)
	product, texts := 1, make([]string, len(parts))
	for i, part := range parts {
		if slices.Contains(names, part.Name) {
			return nil, fmt.Errorf("dimension %q is in the order %q already: name the part otherwise", part.Name, m.Order())
		}
		names = slices.Insert(names, at+i, part.Name)
		sizes[part.Name], texts[i] = int(part.Size), fmt.Sprintf("%s=%d", part.Name, part.Size)
		if part.Size < 1 || int(part.Size) > mesh.MaxWorldSize/product {
			return nil, fmt.Errorf("%s of dimension %q: a part must be 1 to %d", texts[i], dimension, mesh.MaxWorldSize/product)
		}
		product *= int(part.Size)
	}
	if product != whole {
		return nil, fmt.Errorf("%s is %d, and %s is %d: the parts of a dimension must multiply to its size", strings.Join(texts, " x "), product, dimension, whole)
	}
	return mesh.New(strings.Join(names, "-"), sizes)
}

// Flatten joins neighbouring dimensions of the order to one, in the place of the fastest. Ranks stay what they are. It
// refuses dimensions between which others lie: their product is a group, but no dimension.
func Flatten(m *mesh.Mesh, name string, dimensions ...string) (*mesh.Mesh, error) {
	groups, err := m.Groups(dimensions...) // refuses none, unknown and repeated names
	if err != nil {
		return nil, err
	}
	names, sizes := namesOf(m), sizesOf(m)
	first := slices.IndexFunc(names, func(n string) bool { return slices.Contains(dimensions, n) })
	for _, n := range names[first : first+len(dimensions)] {
		if !slices.Contains(dimensions, n) {
			return nil, fmt.Errorf("dimensions %v do not follow one another in the order %q: only neighbours can be joined", dimensions, m.Order())
		}
		delete(sizes, n)
	}
	names = slices.Delete(names, first, first+len(dimensions))
	if slices.Contains(names, name) {
		return nil, fmt.Errorf("dimension %q is in the order %q already: name the product otherwise", name, m.Order())
	}
	sizes[name] = len(groups[0])
	return mesh.New(strings.Join(slices.Insert(names, first, name), "-"), sizes)
}

// Leaders returns the rank of each copy that stands for the others: the rank at 0 in all dimensions but the named ones, which
// number independent copies of the model. Requests go to a leader. Without names rank 0 leads all.
func Leaders(m *mesh.Mesh, copies ...string) ([]int32, error) {
	if len(copies) == 0 {
		return []int32{0}, nil
	}
	groups, err := m.Groups(copies...)
	if err != nil {
		return nil, err
	}
	return groups[0], nil
}

// namesOf are the dimensions of a mesh, fastest first.
func namesOf(m *mesh.Mesh) []string { return strings.Split(m.Order(), "-") }

// sizesOf are the sizes of all dimensions by name.
func sizesOf(m *mesh.Mesh) map[string]int {
	sizes := map[string]int{}
	for _, d := range m.Dimensions() {
		sizes[d.Name] = int(d.Size)
	}
	return sizes
}
