package regroup

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/mesh"
)

// worldName is the name of the group of all ranks.
const worldName = "world"

// Layout is a mesh with a device on every rank and groups of its own beside the groups of the dimensions. It does not change and
// may be shared.
type Layout struct {
	*mesh.Layout
	seats  []mesh.Seat // by rank
	custom map[string][]int32
}

// New returns a layout without groups of its own. It refuses what mesh.NewLayout refuses.
func New(m *mesh.Mesh, seats []mesh.Seat) (*Layout, error) {
	laid, err := mesh.NewLayout(m, seats)
	if err != nil {
		return nil, err
	}
	return &Layout{Layout: laid, seats: laid.Seats()}, nil
}

// Seat returns the device on a rank.
func (l *Layout) Seat(rank int) (mesh.Seat, error) {
	if err := l.checkRank(rank); err != nil {
		return mesh.Seat{}, err
	}
	return l.seats[rank], nil
}

// RankOf returns the rank of a device, and whether it has one.
func (l *Layout) RankOf(node string, device v1alpha1.DeviceID) (int, bool) {
	rank := slices.IndexFunc(l.seats, func(s mesh.Seat) bool { return s.Node == node && s.Device == device })
	return rank, rank >= 0
}

func (l *Layout) checkRank(rank int) error {
	_, _, err := l.LocalRank(rank)
	return err
}

// maxGroupName is the most bytes that a DeviceMesh allows for the name of a group.
const maxGroupName = 64

// WithGroup returns the layout with one more group of its own, whose members have the order that is given. It refuses a name
// that is taken or is the name of the world, a dimension or a product of dimensions, and ranks that are none, repeated, or outside
// of the mesh.
func (l *Layout) WithGroup(name string, ranks ...int32) (*Layout, error) {
	if err := l.checkGroupName(name); err != nil {
		return nil, err
	}
	if len(ranks) == 0 {
		return nil, fmt.Errorf("group %q has no ranks: name at least one", name)
	}
	seen := make(map[int32]bool, len(ranks))
	for _, rank := range ranks {
		if err := l.checkRank(int(rank)); err != nil {
			return nil, fmt.Errorf("group %q: %w", name, err)
		}
		if seen[rank] {
			return nil, fmt.Errorf("group %q names rank %d twice: remove one", name, rank)
		}
		seen[rank] = true
	}
	made := &Layout{Layout: l.Layout, seats: l.seats, custom: map[string][]int32{name: slices.Clone(ranks)}}
	maps.Copy(made.custom, l.custom)
	return made, nil
}

func (l *Layout) checkGroupName(name string) error {
	switch {
	case name == "" || len(name) > maxGroupName:
		return fmt.Errorf("name of group %q has %d bytes: use 1 to %d", name, len(name), maxGroupName)
	case name == worldName:
		return fmt.Errorf("group %q has all ranks already: choose another name", name)
	case l.custom[name] != nil:
		return fmt.Errorf("group %q is there already, with ranks %v: choose another name", name, l.custom[name])
	case !slices.ContainsFunc(strings.Split(name, "-"), func(part string) bool { return l.Size(part) == 0 }):
		return fmt.Errorf("group %q is a dimension or a product of dimensions of the order %s: choose another name", name, l.Order())
	}
	return nil
}

// GroupNames are the names of the groups that Group knows besides products of dimensions: the world, the dimensions in
// their order, and the layout's own by name.
func (l *Layout) GroupNames() []string {
	return slices.Concat([]string{worldName}, strings.Split(l.Order(), "-"), slices.Sorted(maps.Keys(l.custom)))
}

// Group lists the groups of a name: `world`, a dimension, a product of dimensions (`tp-pp`), or one of the layout's own.
func (l *Layout) Group(name string) ([][]int32, error) {
	switch ranks, own := l.custom[name]; {
	case own:
		return [][]int32{slices.Clone(ranks)}, nil
	case name == worldName:
		return [][]int32{l.World()}, nil
	}
	groups, err := l.Groups(strings.Split(name, "-")...)
	if err != nil {
		return nil, fmt.Errorf("group %q: %w", name, err)
	}
	return groups, nil
}

// GroupOf returns the group of a name that a rank is in, and the rank's place in the group, from 0. The place is -1 where the name
// is of a group of the layout's own that the rank is not in.
func (l *Layout) GroupOf(name string, rank int) (group []int32, place int, err error) {
	if err := l.checkRank(rank); err != nil {
		return nil, -1, err
	}
	groups, err := l.Group(name)
	if err != nil {
		return nil, -1, err
	}
	for _, g := range groups {
		if at := slices.Index(g, int32(rank)); at >= 0 {
			return g, at, nil
		}
	}
	return nil, -1, nil
}

// In returns the devices of each group of a name.
func (l *Layout) In(name string) ([][]mesh.Seat, error) {
	groups, err := l.Group(name)
	if err != nil {
		return nil, err
	}
	devices := make([][]mesh.Seat, len(groups))
	for i, group := range groups {
		for _, rank := range group {
			devices[i] = append(devices[i], l.seats[rank])
		}
	}
	return devices, nil
}
