package placement

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/shape"
)

// rounds gather the placements that wait for a decision while others are decided for, so that the next round decides for all of them.
type rounds struct {
	mu     sync.Mutex
	joined []*turn
	// deciding holds a value while a round decides.
	deciding chan struct{}
}

// join has a turn decided in the next round.
func (r *rounds) join(t *turn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.joined = append(r.joined, t)
}

// next returns the turns of the next round.
func (r *rounds) next() []*turn {
	r.mu.Lock()
	defer r.mu.Unlock()
	turns := r.joined
	r.joined = nil
	return turns
}

// turn is one attempt to find a plan for the placement of a pass, and what came of it, which may be read when done is closed.
type turn struct {
	pass *pass
	done chan struct{}

	// made is the plan that was committed for the placement; nil where none was. Where there is an error too, the plan is not active yet.
	made *v1alpha1.ShardingPlan
	// err is an *objects.Refused where something failed for this placement alone.
	err error
	// inForce is the plan that the placement has already; nil where none is.
	inForce *v1alpha1.ShardingPlan
	// unplaceable or invalid is the planner's reason not to make a plan; both are nil where it made one or no plan is needed.
	unplaceable *plan.Unplaceable
	invalid     *shape.InvalidRequest
	// leftovers says that there are plans which nobody brought into force and which hold devices.
	leftovers bool
	priority  int32
	// full says that the round had as many plans as it may before it came to the placement.
	full bool
	// late says that the placement was refused before, and that the round had asked again about others for as long as it may.
	late bool
	// again says that the placement was refused for a plan that was not made.
	again bool
}

func newTurn(p *pass) *turn { return &turn{pass: p, done: make(chan struct{})} }

// begin makes a turn as if nothing had been decided for it.
func (t *turn) begin(priority int32, full bool) {
	t.priority, t.full, t.late = priority, full, false
	t.err, t.inForce, t.unplaceable, t.invalid = nil, nil, nil, nil
}

func (t *turn) uid() types.UID { return t.pass.placement.UID }
