package regroup

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/mesh"
)

// NoRank is the rank of a device that is not in a layout.
const NoRank = -1

// Move is a device whose rank changed.
type Move struct {
	Node   string
	Device v1alpha1.DeviceID
	// From and To are the device's ranks before and after; NoRank where it came or went.
	From, To int
}

// Change is what became of a layout.
type Change struct {
	Layout *Layout
	// Moves are the devices whose rank changed: devices that stay or come in order of their new ranks, then devices that went in
	// order of their old ranks.
	Moves []Move
	// Regrouped are the dimensions whose groups have other members than before, dimensions that came or went included, and
	// Dropped the layout's own groups that lost a member.
	Regrouped, Dropped []string
}

// Without returns the devices in order of their ranks, except the devices on some ranks.
func (l *Layout) Without(ranks ...int32) []mesh.Seat {
	kept := make([]mesh.Seat, 0, len(l.seats))
	for rank := range l.seats {
		if !slices.Contains(ranks, int32(rank)) {
			kept = append(kept, l.seats[rank])
		}
	}
	return kept
}

// Reshape lays devices out on another mesh: nil seats mean the devices that the layout has. All groups are made anew along the new
// mesh; the layout's own groups follow their devices, and a group that lost a device is dropped. It refuses what New refuses, and
// groups of the layout's own whose name is now a dimension's.
func (l *Layout) Reshape(m *mesh.Mesh, seats []mesh.Seat) (*Change, error) {
	if seats == nil {
		seats = l.seats
	}
	next, err := New(m, seats)
	if err != nil {
		return nil, fmt.Errorf("reshape: %w", err)
	}
	before, after := l.ranksBySeat(), next.ranksBySeat()
	change := &Change{}
	for _, name := range slices.Sorted(maps.Keys(l.custom)) {
		ranks, whole := follow(l.custom[name], l.seats, after)
		if !whole {
			change.Dropped = append(change.Dropped, name)
			continue
		}
		if next, err = next.WithGroup(name, ranks...); err != nil {
			return nil, fmt.Errorf("reshape: %w", err)
		}
	}
	change.Layout, change.Moves = next, moves(l.seats, next.seats, before, after)
	change.Regrouped, err = regrouped(l, next)
	return change, err
}

// place names a device of the cluster.
type place struct {
	node   string
	device v1alpha1.DeviceID
}

func placeOf(s mesh.Seat) place { return place{s.Node, s.Device} }

func (l *Layout) ranksBySeat() map[place]int {
	ranks := make(map[place]int, len(l.seats))
	for rank, s := range l.seats {
		ranks[placeOf(s)] = rank
	}
	return ranks
}

// follow returns the new ranks of the devices on ranks, and whether all of the devices stayed.
func follow(ranks []int32, seats []mesh.Seat, after map[place]int) ([]int32, bool) {
	moved := make([]int32, len(ranks))
	for i, rank := range ranks {
		to, ok := after[placeOf(seats[rank])]
		if !ok {
			return nil, false
		}
		moved[i] = int32(to)
	}
	return moved, true
}

func moves(old, next []mesh.Seat, before, after map[place]int) []Move {
	var found []Move
	for to, s := range next {
		from, was := before[placeOf(s)]
		if !was {
			from = NoRank
		}
		if from != to {
			found = append(found, Move{s.Node, s.Device, from, to})
		}
	}
	for from, s := range old {
		if _, stays := after[placeOf(s)]; !stays {
			found = append(found, Move{s.Node, s.Device, from, NoRank})
		}
	}
	return found
}

// regrouped are the dimensions along which devices are not grouped as they were, in order of their names.
func regrouped(old, next *Layout) ([]string, error) {
	names := strings.Split(old.Order()+"-"+next.Order(), "-")
	slices.Sort(names)
	var changed []string
	for _, name := range slices.Compact(names) {
		a, err := old.groupsOfSeats(name)
		if err != nil {
			return nil, err
		}
		b, err := next.groupsOfSeats(name)
		if err != nil {
			return nil, err
		}
		if !maps.Equal(a, b) {
			changed = append(changed, name)
		}
	}
	return changed, nil
}

// groupsOfSeats says of each device which one is the first of its group along a dimension and how many it has, and its place
// there. Where the order lacks the dimension each device is alone.
func (l *Layout) groupsOfSeats(name string) (map[place]membership, error) {
	groups := make([][]int32, 0, len(l.seats))
	if l.Size(name) == 0 {
		groups = slices.AppendSeq(groups, slices.Chunk(l.World(), 1))
	} else {
		var err error
		if groups, err = l.Groups(name); err != nil {
			return nil, err
		}
	}
	members := make(map[place]membership, len(l.seats))
	for _, group := range groups {
		first := l.seats[group[0]]
		for position, rank := range group {
			s := l.seats[rank]
			members[placeOf(s)] = membership{placeOf(first), position, len(group)}
		}
	}
	return members, nil
}

type membership struct {
	first          place
	position, size int
}
