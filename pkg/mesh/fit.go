package mesh

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// ForWorld makes a mesh as New does and refuses one whose ranks are not as many as there are devices, with the number that
// is left over or missing.
func ForWorld(world int, order string, sizes map[string]int) (*Mesh, error) {
	if err := checkWorld(world); err != nil {
		return nil, err
	}
	m, err := New(order, sizes)
	if err != nil {
		return nil, err
	}
	if m.world == world {
		return m, nil
	}
	return nil, fmt.Errorf("%s makes %s, and there are %s: %s", m.product(), v1alpha1.Counted(m.world, "rank"), v1alpha1.Counted(world, "device"), m.remedy(world))
}

// Filling makes a mesh in which one dimension takes what the others leave of the devices, as data parallelism does in
// Megatron and a size of -1 in PyTorch. A size that is given for it all the same must be that one. It refuses sizes that
// leave a remainder.
func Filling(world int, order, dimension string, sizes map[string]int) (*Mesh, error) {
	if sizes[dimension] != 0 {
		return ForWorld(world, order, sizes)
	}
	if err := checkWorld(world); err != nil {
		return nil, err
	}
	others, err := New(order, without(sizes, dimension))
	if err != nil {
		return nil, err
	}
	if others.index(dimension) < 0 {
		return nil, fmt.Errorf("the order %q has no dimension %q", order, dimension)
	}
	if others.world > world {
		return ForWorld(world, order, without(sizes, dimension))
	}
	if left := world % others.world; left != 0 {
		return nil, fmt.Errorf("%s makes %s, which do not divide the %s: %d would be left over; change a size or the number of devices",
			others.product(), v1alpha1.Counted(others.world, "rank"), v1alpha1.Counted(world, "device"), left)
	}
	filled := without(sizes, dimension)
	filled[dimension] = world / others.world
	return New(order, filled)
}

func without(sizes map[string]int, dimension string) map[string]int {
	rest := maps.Clone(sizes)
	if rest == nil {
		rest = map[string]int{}
	}
	delete(rest, dimension)
	return rest
}

func checkWorld(world int) error {
	if world < 1 || world > MaxWorldSize {
		return fmt.Errorf("the number of devices is %d: it must be 1 to %d", world, MaxWorldSize)
	}
	return nil
}

// RowMajor makes a mesh from names and sizes of which the last is the fastest, as those of PyTorch's init_device_mesh,
// DeepSpeed's ProcessTopology and JAX's Mesh are. It refuses lists of different lengths besides what New refuses.
func RowMajor(names []string, sizes []int) (*Mesh, error) {
	if len(names) != len(sizes) {
		return nil, fmt.Errorf("%d names of dimensions and %d sizes: give one size for each name", len(names), len(sizes))
	}
	bySize := make(map[string]int, len(names))
	fastestFirst := slices.Clone(names)
	slices.Reverse(fastestFirst)
	for i, name := range names {
		bySize[name] = sizes[i]
	}
	return New(strings.Join(fastestFirst, "-"), bySize)
}

// product is the sizes above 1 as a product: `tp=4 x pp=2`.
func (m *Mesh) product() string {
	var parts []string
	for i, name := range m.names {
		if m.sizes[i] > 1 {
			parts = append(parts, fmt.Sprintf("%s=%d", name, m.sizes[i]))
		}
	}
	if len(parts) == 0 {
		return "a size of 1 in every dimension"
	}
	return strings.Join(parts, " x ")
}

// remedy says what would make the mesh fit so many devices.
func (m *Mesh) remedy(world int) string {
	switch {
	case world > m.world && world%m.world == 0:
		return fmt.Sprintf("%d would be left over; make one of the sizes %d times as large", world-m.world, world/m.world)
	case world > m.world:
		return fmt.Sprintf("%d would be left over; use sizes whose product is %d, or %s", world-m.world, world, v1alpha1.Counted(m.world, "device"))
	default:
		return fmt.Sprintf("%d are missing; use sizes whose product is %d, or %s", m.world-world, world, v1alpha1.Counted(m.world, "device"))
	}
}
