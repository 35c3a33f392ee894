package mesh

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// SlowestLinks returns the slowest link of each kind of group of a DeviceMesh over all copies, in the order in which the kinds
// first appear; kinds whose groups have one rank have none.
func SlowestLinks(spec *v1alpha1.DeviceMeshSpec, hosts Hosts) ([]v1alpha1.SlowestLink, error) {
	copies, err := Copies(spec, hosts)
	if err != nil {
		return nil, err
	}
	s := survey{at: map[string]int{}, groups: map[shapeKind][][]int32{}}
	for i := range copies {
		if err := s.visit(&copies[i], hosts); err != nil {
			return nil, fmt.Errorf("copy %d: %w", i, err)
		}
	}
	links := make([]v1alpha1.SlowestLink, len(s.found))
	for i, f := range s.found {
		links[i] = v1alpha1.SlowestLink{Group: f.kind, Kind: f.Kind, MBps: f.MBps, Replica: f.replica, Ranks: []int32{f.A, f.B}}
	}
	return links, nil
}

// survey finds the slowest link of each kind of group.
type survey struct {
	found []slowestOf
	at    map[string]int
	// groups lists a shape's groups of a kind once for all of its copies.
	groups map[shapeKind][][]int32
}

type slowestOf struct {
	kind    string
	replica int32
	Slowest
}

type shapeKind struct {
	shape *v1alpha1.MeshShape
	kind  string
}

func (s *survey) visit(c *Copy, hosts Hosts) error {
	wires := NewWires(c.seats, hosts)
	for i := range c.Shape.Groups {
		g := &c.Shape.Groups[i]
		if g.Size < 2 {
			continue
		}
		groups, err := s.groupsOf(c, g)
		if err != nil {
			return fmt.Errorf("groups %s: %w", g.Name, err)
		}
		if slowest, ok := wires.Slowest(groups); ok {
			s.keep(slowestOf{g.Name, c.Replica, slowest})
		}
	}
	return nil
}

func (s *survey) groupsOf(c *Copy, g *v1alpha1.ProcessGroups) ([][]int32, error) {
	key := shapeKind{c.Shape, g.Name}
	if groups, ok := s.groups[key]; ok {
		return groups, nil
	}
	groups, err := groupsOf(c.Mesh, c.engine, g)
	s.groups[key] = groups
	return groups, err
}

func (s *survey) keep(found slowestOf) {
	at, ok := s.at[found.kind]
	if !ok {
		s.at[found.kind] = len(s.found)
		s.found = append(s.found, found)
		return
	}
	if old := &s.found[at]; compareLinks(found.Link, old.Link) < 0 {
		*old = found
	}
}
