package mesh

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// randomShape draws an order of some of six dimensions and sizes of a world of up to 48 ranks.
func randomShape(r *rand.Rand) (string, map[string]int) {
	names := []string{"tp", "cp", "ep", "dp", "pp", "replica"}
	r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	names = names[:1+r.IntN(len(names))]
	drawn, world := sizes{}, 1
	for _, name := range names {
		if size := 1 + r.IntN(8); size*world <= 48 {
			drawn[name] = size
			world *= size
		}
	}
	return strings.Join(names, "-"), drawn
}

// Every rank of every shape is in exactly one group of each kind, groups have the size of what they go along, ranks and
// coordinates are each other's inverse, and tensor groups lie on one node wherever they can.
func TestManyShapes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var inside, nodes int
	for number := range 100_000 {
		order, sizes := randomShape(r)
		m, err := New(order, sizes)
		if err != nil {
			t.Fatalf("shape %d: %s %v: %v", number, order, sizes, err)
		}
		for _, kind := range kindsOf(m, r) {
			if wrong := wrongGroups(m, kind); wrong != "" {
				t.Fatalf("shape %d: %s %v, groups %v: %s", number, order, sizes, kind, wrong)
			}
		}
		if wrong := wrongCoordinates(m); wrong != "" {
			t.Fatalf("shape %d: %s %v: %s", number, order, sizes, wrong)
		}
		if m.index("tp") < 0 {
			continue
		}
		all, wrong := tensorGroupsOnNodes(m, r)
		if wrong != "" {
			t.Fatalf("shape %d: %s %v: %s", number, order, sizes, wrong)
		}
		nodes++
		if all {
			inside++
		}
	}
	if inside < nodes/10 || inside == nodes {
		t.Errorf("tensor groups fit into nodes in %d of %d shapes: the draw shows one of the two cases alone", inside, nodes)
	}
}

// kindsOf are all dimensions, a random product of them, and all of them together.
func kindsOf(m *Mesh, r *rand.Rand) [][]string {
	kinds := [][]string{m.names}
	for i := range m.names {
		kinds = append(kinds, m.names[i:i+1])
	}
	product := slices.Clone(m.names)
	r.Shuffle(len(product), func(i, j int) { product[i], product[j] = product[j], product[i] })
	return append(kinds, product[:1+r.IntN(len(product))])
}

func wrongGroups(m *Mesh, along []string) string {
	groups, err := m.Groups(along...)
	if err != nil {
		return err.Error()
	}
	size := 1
	for _, name := range along {
		size *= m.Size(name)
	}
	if len(groups)*size != m.world {
		return fmt.Sprintf("%d groups of %d in a world of %d", len(groups), size, m.world)
	}
	seen := make([]bool, m.world)
	for _, group := range groups {
		if len(group) != size {
			return fmt.Sprintf("group %v has not %d ranks", group, size)
		}
		for _, rank := range group {
			if seen[rank] {
				return fmt.Sprintf("rank %d is in two groups", rank)
			}
			seen[rank] = true
			for i, name := range m.names {
				if !slices.Contains(along, name) && int(rank)/m.strides[i]%m.sizes[i] != int(group[0])/m.strides[i]%m.sizes[i] {
					return fmt.Sprintf("ranks %d and %d differ in %s", group[0], rank, name)
				}
			}
		}
	}
	return ""
}

func wrongCoordinates(m *Mesh) string {
	for _, rank := range []int{0, m.world / 2, m.world - 1} {
		at, err := m.Coordinates(rank)
		if err != nil {
			return err.Error()
		}
		if back, err := m.Rank(at); err != nil || back != rank {
			return fmt.Sprintf("rank %d is at %v, where rank %d is (%v)", rank, at, back, err)
		}
	}
	return ""
}

// tensorGroupsOnNodes lays a mesh out on nodes of random sizes, and says whether all tensor groups could lie on one node
// each, and what is wrong where they could and do not.
func tensorGroupsOnNodes(m *Mesh, r *rand.Rand) (all bool, wrong string) {
	var seats []Seat
	tensor, could := m.Size("tp"), 0
	for node := 0; len(seats) < m.world; node++ {
		n := min(1+r.IntN(8), m.world-len(seats))
		if r.IntN(2) == 0 {
			n = min(tensor*(1+r.IntN(2)), m.world-len(seats))
		}
		could += n / tensor
		for i := range n {
			seats = append(seats, Seat{Node: fmt.Sprint("n", node), Device: deviceNames[i]})
		}
	}
	l, err := LayOut(m, seats, nil, "tp")
	if err != nil {
		return false, err.Error()
	}
	groups, err := l.Groups("tp")
	if err != nil {
		return false, err.Error()
	}
	inside := 0
	for _, group := range groups {
		if !slices.ContainsFunc(group, func(rank int32) bool { return l.seats[rank].Node != l.seats[group[0]].Node }) {
			inside++
		}
	}
	if inside < could {
		return false, fmt.Sprintf("%d of %d tensor groups lie on one node, and %d could", inside, len(groups), could)
	}
	return could == len(groups), ""
}

var deviceNames = ids("nvidia", slices.Collect(upTo(96))...)
