package synthetic

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/inventory"
)

// Spec describes a cluster to build.
type Spec struct {
	// Nodes are the shapes of the nodes with their numbers.
	Nodes []Count
	// Occupied is the share of each shape's devices that pods hold, by Pattern.
	Occupied Percent
	Pattern  Pattern
	// Seed decides which devices are held and which nodes fail.
	Seed uint64
	// Added are nodes beyond Nodes, all their devices free; Removed is how many of Nodes are gone with what they held, the
	// last of each shape first. Neither changes the other nodes, but for the fabrics that they share.
	Added, Removed []Count
	// Failed is how many nodes take no new work.
	Failed int
}

// Build makes the nodes, by shape in the order of Spec and then by number. Each has memory of its own, as if it came from
// an informer's cache.
func Build(spec Spec) ([]fleet.Node, error) {
	if err := spec.check(); err != nil {
		return nil, err
	}
	var nodes []fleet.Node
	for _, shape := range spec.shapes() {
		base := countOf(spec.Nodes, shape)
		total := base + countOf(spec.Added, shape) - countOf(spec.Removed, shape)
		made := shape.nodes(max(base, total), total)
		occupy(shape, made[:base], &spec)
		nodes = append(nodes, made[:total]...)
	}
	for i := range nodes {
		status := &nodes[i].Inventory.Status
		status.Summary = inventory.Summarize(nodes[i].Inventory.Spec, status)
	}
	if spec.Failed > len(nodes) {
		return nil, fmt.Errorf("%d nodes are to fail, but there are %d: lower the number", spec.Failed, len(nodes))
	}
	random := rand.New(rand.NewPCG(spec.Seed, hash("failed nodes")))
	for _, i := range random.Perm(len(nodes))[:spec.Failed] {
		nodes[i].Unschedulable = true
	}
	return nodes, nil
}

// shapes returns the shapes of base and added nodes, each once.
func (s *Spec) shapes() []*Shape {
	var all []*Shape
	for _, c := range slices.Concat(s.Nodes, s.Added) {
		if !slices.Contains(all, c.Shape) {
			all = append(all, c.Shape)
		}
	}
	return all
}

func (s *Spec) check() error {
	total := 0
	for _, counts := range [][]Count{s.Nodes, s.Added, s.Removed} {
		for i, c := range counts {
			if c.Shape == nil || c.Nodes < 0 || c.Nodes > MaxNodes {
				return fmt.Errorf("%d nodes of a shape: give a shape and from 0 to %d nodes", c.Nodes, MaxNodes)
			}
			if slices.ContainsFunc(counts[:i], func(other Count) bool { return other.Shape == c.Shape }) {
				return fmt.Errorf("shape %s is given twice: give it once", c.Shape.Name)
			}
		}
	}
	for _, c := range slices.Concat(s.Nodes, s.Added) {
		total += c.Nodes
	}
	for _, c := range s.Removed {
		switch base := countOf(s.Nodes, c.Shape); {
		case c.Nodes > base:
			return fmt.Errorf("%d nodes of shape %s are to be removed, but there are %d: lower the number", c.Nodes, c.Shape.Name, base)
		case c.Nodes > 0 && countOf(s.Added, c.Shape) > 0:
			return fmt.Errorf("nodes of shape %s are to be both added and removed: do one of them", c.Shape.Name)
		}
		total -= c.Nodes
	}
	switch {
	case total < 1 || total > MaxNodes:
		return fmt.Errorf("%d nodes in all: from 1 to %d can be built", total, MaxNodes)
	case s.Occupied < 0 || s.Occupied > whole:
		return fmt.Errorf("%s of the devices occupied: give from 0%% to 100%%", s.Occupied)
	case !slices.Contains(Patterns(), s.Pattern):
		return fmt.Errorf("pattern %q is not known: use one of %v", s.Pattern, Patterns())
	case s.Failed < 0:
		return errors.New("less than no node is to fail: give 0 or more")
	}
	return nil
}

func countOf(counts []Count, shape *Shape) int {
	for _, c := range counts {
		if c.Shape == shape {
			return c.Nodes
		}
	}
	return 0
}
