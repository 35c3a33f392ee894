package main

import (
	"fmt"
	"math/rand/v2"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/plan/synthetic"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

// crowdedDrawn is how many cases are drawn on clusters that others hold the most of.
const crowdedDrawn = 2000

// refusedCases ask for what is refused for different reasons, on some numbers of nodes.
func refusedCases() []planCase {
	var cases []planCase
	for _, count := range []int{1, 3, 12, 40, 150, 600} {
		for _, kind := range plantest.RefusedKinds() {
			cases = append(cases, planCase{
				name: fmt.Sprintf("refused/%s/%d", kind.Name, count),
				make: func() ([]fleet.Node, shape.Request) {
					nodes, err := plantest.Crowded(count)
					if err != nil {
						panic(err)
					}
					request, err := kind.Request()
					if err != nil {
						panic(err)
					}
					return nodes, shape.Request{Placement: request.Placement, Model: request.Model}
				},
			})
		}
	}
	return cases
}

// crowdedCases ask for large models, in many copies or for a load that copies share, on clusters of up to a hundred nodes that other
// placements hold the most of.
func crowdedCases() []planCase {
	cases := make([]planCase, crowdedDrawn)
	for i := range cases {
		cases[i] = planCase{
			name:  fmt.Sprintf("crowded/%d", i),
			again: i%7 == 0,
			make: func() ([]fleet.Node, shape.Request) {
				r := draw{rand.New(rand.NewPCG(uint64(i), 1<<33))}
				nodes := r.crowded()
				request := r.request(r.model())
				r.heavier(&request.Placement.Spec)
				return nodes, request
			},
		}
	}
	return cases
}

// crowded draws nodes of one to three shapes, in racks, whose devices placements hold.
func (r draw) crowded() []fleet.Node {
	var nodes []fleet.Node
	for range pick(r, 1, 1, 2, 3) {
		host := pick(r, "h100x8", "h200x8", "mi300x8", "l40sx4", "a100-80x8", pick(r, synthetic.Names()...))
		spec := synthetic.Spec{Seed: r.Uint64(), Pattern: pick(r, synthetic.Patterns()...), Occupied: synthetic.Percent(pick(r, 3000, 5000, 7000, 9000))}
		for _, n := range r.build(spec, host, 1+r.IntN(pick(r, 3, 12, 40))) {
			n.Name = fmt.Sprintf("%s-%d", n.Name, len(nodes)) // a shape may be drawn again
			n.Labels["kubernetes.io/hostname"], n.Labels["rack"] = n.Name, pick(r, "r1", "r2", "r3", "r4")
			n.Unschedulable = r.oneIn(30)
			plantest.HeldByPlacements(&n)
			nodes = append(nodes, n)
		}
	}
	return nodes
}

// heavier asks for a load of the whole placement, for more copies, or for limits that are hard to keep.
func (r draw) heavier(s *v1alpha1.ModelPlacementSpec) {
	in := s.Workload.Inference
	switch {
	case in != nil && r.oneIn(2):
		in.MaxSequences, in.TotalSequences = 0, pick(r, int32(10), 100, 1000, 5000, 1<<17)
		if !r.oneIn(3) {
			s.Replicas = nil
		}
	case r.oneIn(2):
		s.Replicas = ptr(pick(r, int32(4), 10, 30, 100))
	}
	if r.oneIn(3) {
		s.Topology = &v1alpha1.TopologyRequirements{Required: ptr(pick(r, "kubernetes.io/hostname", "rack"))}
	}
}
