// Package mesh gives ranks to the devices of a plan: it numbers them along named dimensions, lists the process groups
// that follow, and writes both down as a DeviceMesh. It is pure: the same input gives the same bytes.
package mesh

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// MaxWorldSize is the largest number of ranks that a mesh may have. It is the bound of DeviceMeshSpec.WorldSize.
const MaxWorldSize = 1 << 20

// Bounds of DeviceMeshSpec.Dimensions and of a dimension's name.
const (
	maxDimensions = 16
	maxNameLength = 32
)

var namePattern = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// Mesh numbers ranks along named dimensions: the rank is the sum of coordinate times stride, and the stride grows from
// the first dimension of the order to the last. A Mesh does not change and may be shared.
type Mesh struct {
	names   []string
	sizes   []int
	strides []int
	world   int
}

// New makes a mesh from an order such as `tp-cp-ep-dp-pp`, fastest dimension first, and the sizes of its dimensions.
// A dimension without a size has size 1. It refuses empty, malformed and repeated names, sizes below 1, sizes above 1 of
// dimensions that the order lacks, and worlds of more than MaxWorldSize ranks.
func New(order string, sizes map[string]int) (*Mesh, error) {
	names, err := parseOrder(order)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		size := sizes[name]
		if size < 1 {
			return nil, fmt.Errorf("size of dimension %q is %d: it must be at least 1", name, size)
		}
		if size > 1 && !slices.Contains(names, name) {
			return nil, fmt.Errorf("dimension %q has size %d but the order %q lacks it: add it to the order or make it 1", name, size, order)
		}
	}
	m := &Mesh{names: names, world: 1}
	for _, name := range names {
		size, ok := sizes[name]
		if !ok {
			size = 1
		}
		m.sizes = append(m.sizes, size)
		m.strides = append(m.strides, m.world)
		if size > MaxWorldSize/m.world {
			return nil, fmt.Errorf("mesh %s has more than %d ranks: lower one of the sizes", describe(names, sizes), MaxWorldSize)
		}
		m.world *= size
	}
	return m, nil
}

func parseOrder(order string) ([]string, error) {
	names := strings.Split(order, "-")
	if len(names) > maxDimensions {
		return nil, fmt.Errorf("order %q has %d dimensions: at most %d are possible", order, len(names), maxDimensions)
	}
	for i, name := range names {
		if len(name) > maxNameLength || !namePattern.MatchString(name) {
			return nil, fmt.Errorf("order %q: %q is no name of a dimension: use a lower-case letter, then up to %d lower-case letters, digits and _, names joined by -",
				order, name, maxNameLength-1)
		}
		if slices.Contains(names[:i], name) {
			return nil, fmt.Errorf("order %q names dimension %q twice: remove one of them", order, name)
		}
	}
	return names, nil
}

func describe(names []string, sizes map[string]int) string {
	parts := make([]string, 0, len(names))
	for _, name := range names {
		if size, ok := sizes[name]; ok {
			parts = append(parts, fmt.Sprintf("%s=%d", name, size))
		}
	}
	return strings.Join(parts, " ")
}

// WorldSize returns the number of ranks.
func (m *Mesh) WorldSize() int { return m.world }

// Order returns the order string, fastest dimension first.
func (m *Mesh) Order() string { return strings.Join(m.names, "-") }

// Dimensions returns the dimensions with their sizes, fastest first.
func (m *Mesh) Dimensions() []v1alpha1.MeshDimension {
	dimensions := make([]v1alpha1.MeshDimension, len(m.names))
	for i, name := range m.names {
		dimensions[i] = v1alpha1.MeshDimension{Name: name, Size: int32(m.sizes[i])}
	}
	return dimensions
}

// Shape returns the sizes above 1 for people (`tp4 pp2`), or `1` where there are none.
func (m *Mesh) Shape() string { return v1alpha1.ShapeText(m.Dimensions()) }

// Size returns the size of a dimension; 0 where the order lacks it.
func (m *Mesh) Size(name string) int {
	if i := m.index(name); i >= 0 {
		return m.sizes[i]
	}
	return 0
}

func (m *Mesh) index(name string) int { return slices.Index(m.names, name) }

// Coordinates returns the coordinates of a rank, counted from 0, one for each dimension of the order.
func (m *Mesh) Coordinates(rank int) (map[string]int, error) {
	if err := m.checkRank(rank); err != nil {
		return nil, err
	}
	coordinates := make(map[string]int, len(m.names))
	for i, name := range m.names {
		coordinates[name] = rank / m.strides[i] % m.sizes[i]
	}
	return coordinates, nil
}

func (m *Mesh) checkRank(rank int) error {
	if rank < 0 || rank >= m.world {
		return fmt.Errorf("rank %d is outside of the mesh: it has ranks 0 to %d", rank, m.world-1)
	}
	return nil
}

// Rank returns the rank at the coordinates, counted from 0; a dimension that is not named is at 0. It refuses coordinates
// outside of the mesh and names that the order lacks.
func (m *Mesh) Rank(coordinates map[string]int) (int, error) {
	rank := 0
	for _, name := range slices.Sorted(maps.Keys(coordinates)) {
		offset, err := m.offset(name, coordinates[name])
		if err != nil {
			return 0, err
		}
		rank += offset
	}
	return rank, nil
}

// offset is how far a coordinate along a dimension is from the rank at 0.
func (m *Mesh) offset(name string, at int) (int, error) {
	i := m.index(name)
	if i < 0 {
		return 0, fmt.Errorf("the order %q has no dimension %q", m.Order(), name)
	}
	if at < 0 || at >= m.sizes[i] {
		return 0, fmt.Errorf("coordinate %s=%d is outside of the mesh: it has %s 0 to %d", name, at, name, m.sizes[i]-1)
	}
	return at * m.strides[i], nil
}
