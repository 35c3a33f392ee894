package synthetic

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
)

// Pattern is how held devices lie in a cluster.
type Pattern string

// The patterns.
const (
	// Islands holds whole link domains, or hosts without one; at most one of each shape is held in part.
	Islands Pattern = "islands"
	// Scattered holds single devices anywhere.
	Scattered Pattern = "scattered"
	// Fragments holds runs of 1, 2 and 4 neighbours on a node, as small tenants do.
	Fragments Pattern = "fragments"
)

// Patterns returns all patterns.
func Patterns() []Pattern { return []Pattern{Islands, Scattered, Fragments} }

// tenantNamespace is the namespace of the pods that hold devices.
const tenantNamespace = "tenants"

// holder allocates devices of nodes of one shape to pods.
type holder struct {
	shape   *Shape
	nodes   []fleet.Node
	random  *rand.Rand
	want    int
	tenants int
}

// occupy allocates a share of the devices of the nodes of a shape to pods. The draw depends on the seed and the shape only.
func occupy(shape *Shape, nodes []fleet.Node, spec *Spec) {
	h := holder{
		shape: shape, nodes: nodes, want: spec.Occupied.Of(len(nodes) * shape.Devices()),
		random: rand.New(rand.NewPCG(spec.Seed, hash(shape.Name))),
	}
	switch spec.Pattern {
	case Islands:
		h.islands()
	case Fragments:
		h.fragments()
	default:
		h.scattered()
	}
	for i := range nodes {
		slices.SortFunc(nodes[i].Inventory.Status.Allocations, func(a, b v1alpha1.Allocation) int { return cmp.Compare(a.Device, b.Device) })
	}
}

// hold gives a run of a node's devices to a new pod.
func (h *holder) hold(node, first, n int) {
	status := &h.nodes[node].Inventory.Status
	pod := fmt.Sprintf("%s-%06d", h.shape.Name, h.tenants)
	h.tenants++
	h.want -= n
	for i := range status.Devices[first : first+n] {
		d := &status.Devices[first+i]
		status.Allocations = append(status.Allocations, v1alpha1.Allocation{
			Device: d.ID, Namespace: tenantNamespace, Pod: pod, Container: "main", Resource: d.Service.Resource,
		})
	}
}

func (h *holder) scattered() {
	each := h.shape.Devices()
	for _, at := range h.random.Perm(len(h.nodes) * each)[:h.want] {
		h.hold(at/each, at%each, 1)
	}
}

// islands holds the fabrics, or the nodes where there are none, in a random order.
func (h *holder) islands() {
	each := h.shape.Devices()
	span := max(1, h.shape.links.nodes)
	for _, island := range h.random.Perm((len(h.nodes) + span - 1) / span) {
		for node := island * span; node < min((island+1)*span, len(h.nodes)) && h.want > 0; node++ {
			h.hold(node, 0, min(each, h.want))
		}
	}
}

// largestRun is the most neighbours that a small tenant holds, as a power of two.
const largestRun = 2

// fragments holds aligned runs on random nodes. A run that does not fit is halved until it does: one device always fits on
// a node that is not full.
func (h *holder) fragments() {
	each := h.shape.Devices()
	held := make([][]bool, len(h.nodes))
	open := make([]int, len(h.nodes))
	for i := range held {
		held[i], open[i] = make([]bool, each), i
	}
	for h.want > 0 {
		at := h.random.IntN(len(open))
		node := open[at]
		run := 1 << h.random.IntN(largestRun+1)
		for run > h.want || freeRun(held[node], run) < 0 {
			run /= 2
		}
		first := freeRun(held[node], run)
		for i := range run {
			held[node][first+i] = true
		}
		h.hold(node, first, run)
		if !slices.Contains(held[node], false) {
			open[at] = open[len(open)-1]
			open = open[:len(open)-1]
		}
	}
}

// freeRun returns the index of the first aligned run of so many free devices; -1 where there is none.
func freeRun(held []bool, run int) int {
	for first := 0; first+run <= len(held); first += run {
		if !slices.Contains(held[first:first+run], true) {
			return first
		}
	}
	return -1
}
