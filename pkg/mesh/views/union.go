package views

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rankwright/rankwright/pkg/mesh"
)

// Union is several meshes with one numbering of ranks, in which the ranks of a part follow the ranks of the part before: copies of
// different shape, or stages of a pipeline with different tensor degrees. It does not change and may be shared.
type Union struct {
	parts []*mesh.Mesh
	first []int
	world int
}

// Join numbers the ranks of parts one after the other. It refuses no parts, and parts with more ranks than a mesh may have.
func Join(parts ...*mesh.Mesh) (*Union, error) {
	if len(parts) == 0 {
		return nil, errors.New("a union needs at least one mesh")
	}
	u := &Union{}
	for i, part := range parts {
		u.first = append(u.first, u.world)
		if part.WorldSize() > mesh.MaxWorldSize-u.world {
			return nil, fmt.Errorf("parts[%d] has %d ranks, and %d are before it: together they may have %d", i, part.WorldSize(), u.world, mesh.MaxWorldSize)
		}
		u.parts, u.world = append(u.parts, part), u.world+part.WorldSize()
	}
	return u, nil
}

// WorldSize returns the number of ranks of all parts.
func (u *Union) WorldSize() int { return u.world }

// Parts returns the meshes in order.
func (u *Union) Parts() []*mesh.Mesh { return slices.Clone(u.parts) }

// Locate returns the index of the part that a rank belongs to, and the rank within the part; all count from 0.
func (u *Union) Locate(rank int) (part, local int, err error) {
	if rank < 0 || rank >= u.world {
		return 0, 0, fmt.Errorf("rank %d is outside of the union: it has ranks 0 to %d", rank, u.world-1)
	}
	part = len(u.first) - 1
	for u.first[part] > rank {
		part--
	}
	return part, rank - u.first[part], nil
}

// Rank returns the rank in the union of a part's rank; all count from 0.
func (u *Union) Rank(part, local int) (int, error) {
	if part < 0 || part >= len(u.parts) {
		return 0, fmt.Errorf("part %d is outside of the union: it has parts 0 to %d", part, len(u.parts)-1)
	}
	if local < 0 || local >= u.parts[part].WorldSize() {
		return 0, fmt.Errorf("rank %d is outside of part %d: it has ranks 0 to %d", local, part, u.parts[part].WorldSize()-1)
	}
	return u.first[part] + local, nil
}

// World returns the one group of all ranks.
func (u *Union) World() []int32 {
	ranks := make([]int32, u.world)
	for i := range ranks {
		ranks[i] = int32(i)
	}
	return ranks
}

// Groups lists the groups of all parts along the named dimensions, part by part. A part whose order lacks one of them has
// size 1 there. Every rank is in exactly one group. It refuses names that no part has.
func (u *Union) Groups(dimensions ...string) ([][]int32, error) {
	for _, name := range dimensions {
		if !slices.ContainsFunc(u.parts, func(m *mesh.Mesh) bool { return m.Size(name) > 0 }) {
			return nil, fmt.Errorf("no part of the union has a dimension %q", name)
		}
	}
	var all [][]int32
	for i, part := range u.parts {
		own := slices.DeleteFunc(slices.Clone(dimensions), func(name string) bool { return part.Size(name) == 0 })
		groups := slices.Collect(slices.Chunk(part.World(), 1))
		if len(own) > 0 {
			var err error
			if groups, err = part.Groups(own...); err != nil {
				return nil, fmt.Errorf("parts[%d]: %w", i, err)
			}
		}
		for _, group := range groups {
			for j := range group {
				group[j] += int32(u.first[i])
			}
		}
		all = append(all, groups...)
	}
	return all, nil
}

// Transfer is ranks of two neighbouring parts that exchange what crosses the border of their stages.
type Transfer struct{ From, To int32 }

// Transfers are the pairs of ranks between a part and the next where the parts are stages of one pipeline. Of stages with
// different numbers of ranks, each rank of the smaller stage exchanges with as many ranks of the larger; one number must divide
// the other.
func (u *Union) Transfers(part int) ([]Transfer, error) {
	if part < 0 || part >= len(u.parts)-1 {
		return nil, fmt.Errorf("part %d has no next one: the union has parts 0 to %d", part, len(u.parts)-1)
	}
	from, to := u.parts[part].WorldSize(), u.parts[part+1].WorldSize()
	wide := max(from, to)
	if wide%min(from, to) != 0 {
		return nil, fmt.Errorf("stages %d and %d have %d and %d ranks: one must divide the other", part, part+1, from, to)
	}
	pairs := make([]Transfer, wide)
	for i := range pairs {
		pairs[i] = Transfer{int32(u.first[part] + i*from/wide), int32(u.first[part+1] + i*to/wide)}
	}
	return pairs, nil
}
