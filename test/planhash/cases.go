package main

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/model"
	"github.com/rankwright/rankwright/pkg/plan/synthetic"
	"github.com/rankwright/rankwright/pkg/shape"
)

// drawn is how many cases are drawn beside the cases of the catalogues.
const drawn = 12000

// catalogueCases ask for each model on one and on three nodes of each shape, with requests that are drawn by the names.
func catalogueCases() []planCase {
	var cases []planCase
	for i, name := range model.Families() {
		for j, host := range synthetic.Names() {
			count := 1 + 2*((i+j)%2)
			cases = append(cases, planCase{
				name: fmt.Sprintf("catalogue/%s/%sx%d", name, host, count),
				make: func() ([]fleet.Node, shape.Request) {
					r := draw{rand.New(rand.NewPCG(uint64(i), uint64(j)))}
					m, err := model.Lookup(name)
					if err != nil {
						panic(err)
					}
					return r.build(synthetic.Spec{Pattern: synthetic.Scattered}, host, count), r.request(m)
				},
			})
		}
	}
	return cases
}

// drawnCases ask for models on small clusters of several shapes, some of whose devices are smaller, broken, cordoned or
// held; every fifth loses a device and is planned again.
func drawnCases() []planCase {
	cases := make([]planCase, drawn)
	for i := range cases {
		cases[i] = planCase{
			name:  fmt.Sprintf("drawn/%d", i),
			again: i%5 == 0,
			make: func() ([]fleet.Node, shape.Request) {
				r := draw{rand.New(rand.NewPCG(uint64(i), 1<<32))}
				nodes := r.cluster()
				return nodes, r.request(r.model())
			},
		}
	}
	return cases
}

// draw draws clusters and requests.
type draw struct{ *rand.Rand }

func pick[T any](r draw, list ...T) T { return list[r.IntN(len(list))] }

func (r draw) oneIn(n int) bool { return r.IntN(n) == 0 }

func (r draw) build(spec synthetic.Spec, host string, count int) []fleet.Node {
	s, err := synthetic.Lookup(host)
	if err != nil {
		panic(err)
	}
	spec.Nodes = []synthetic.Count{{Shape: s, Nodes: count}}
	nodes, err := synthetic.Build(spec)
	if err != nil {
		panic(err)
	}
	return nodes
}

func (r draw) cluster() []fleet.Node {
	var nodes []fleet.Node
	shapes := synthetic.Names()
	common := pick(r, shapes...)
	for len(nodes) == 0 || len(nodes) < 12 && !r.oneIn(3) {
		planned := common
		if r.oneIn(3) {
			planned = pick(r, shapes...)
		}
		if slices.ContainsFunc(nodes, func(n fleet.Node) bool { return n.Labels["shape"] == planned }) {
			continue
		}
		spec := synthetic.Spec{Seed: r.Uint64(), Pattern: pick(r, synthetic.Patterns()...), Occupied: synthetic.Percent(pick(r, 0, 0, 2000, 5000))}
		for _, n := range r.build(spec, planned, 1+r.IntN(4)) {
			n.Labels["shape"], n.Labels["rack"] = planned, pick(r, "r1", "r2", "r3")
			n.Unschedulable = n.Unschedulable || r.oneIn(15)
			nodes = append(nodes, n)
		}
		if r.oneIn(2) {
			break
		}
	}
	for i := range nodes {
		delete(nodes[i].Labels, "shape")
		r.trouble(&nodes[i])
	}
	return nodes
}

// trouble makes some devices of a node smaller, broken, cordoned or held by other placements.
func (r draw) trouble(n *fleet.Node) {
	n.Taken = map[v1alpha1.DeviceID]string{}
	share, size := pick(r, int64(0), 0, 0, 2, 9), pick(r, int64(1), 1, 1, 2, 4)
	held := pick(r, "", "", "models/a", "models/b")
	for i := range n.Inventory.Status.Devices {
		d := &n.Inventory.Status.Devices[i]
		if d.Memory == nil {
			continue
		}
		d.Memory.TotalMiB /= size
		broken := r.oneIn(25)
		switch {
		case broken:
			d.Health.State = v1alpha1.Unhealthy
		case r.oneIn(25):
			n.Inventory.Spec.CordonedDevices = append(n.Inventory.Spec.CordonedDevices, d.ID)
		case held != "" && r.oneIn(3):
			n.Taken[d.ID] = held
		case r.oneIn(3):
			d.Memory.UsedByOthersMiB = d.Memory.TotalMiB * share / 10
		}
	}
}

// model draws a model of the catalogue, or makes one up.
func (r draw) model() *model.Model {
	var m *model.Model
	var err error
	if r.oneIn(3) {
		a := v1alpha1.Architecture{
			Layers: int32(1 + r.IntN(60)), HiddenSize: pick(r, int32(2048), 4096, 8192), VocabSize: pick(r, int32(32000), 128256), TiedEmbeddings: r.oneIn(2),
			Attention: v1alpha1.Attention{Heads: pick(r, int32(16), 32, 40), KVHeads: pick(r, int32(2), 4, 8), HeadDim: 128}, MLP: v1alpha1.MLP{IntermediateSize: pick(r, int32(5632), 14336, 45056)},
		}
		if r.oneIn(3) {
			a.MoE = &v1alpha1.MoE{Experts: pick(r, int32(4), 6, 8, 64), ActiveExperts: 2, IntermediateSize: pick(r, int32(1408), 12288)}
		}
		m, err = model.FromArchitecture("drawn", a)
		if err != nil { // heads that key and value heads do not divide
			m, err = model.FromParameters(int64(1+r.IntN(200)) * 1e9)
		}
	} else {
		m, err = model.Lookup(pick(r, model.Families()...))
	}
	if err != nil {
		panic(err)
	}
	return m
}
