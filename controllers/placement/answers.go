package placement

import (
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/plan"
)

// answers remembers why placements could not be placed, so that one change of the cluster costs each waiting placement
// one question to the planner, and not one for each placement that waits behind it. The zero value is ready.
type answers struct {
	mu   sync.Mutex
	seen map[types.NamespacedName]answer
}

// question is all that a planner's answer depends on.
type question struct {
	placement  types.NamespacedName
	uid        types.UID
	generation int64
	// model is the version of the object that the model is from, fingerprint of the cluster, lost what the plan in force has lost,
	// demand what its pods ask for and which nodes have that.
	model, fingerprint, lost, demand string
	// site is the versions of the calibrations.
	site string
	// most is how many devices its namespace may have.
	most int32
	// crowded says that a node had not room for as many of its pods as it has devices.
	crowded bool
}

type answer struct {
	question
	refusal *plan.Unplaceable
}

// ask returns the refusal that is remembered for a question, or computes the answer and remembers it if it is a refusal, which is new then.
func (a *answers) ask(q question, compute func() (*v1alpha1.ShardingPlanSpec, error)) (spec *v1alpha1.ShardingPlanSpec, isNew bool, err error) {
	if known := a.known(q); known != nil {
		return nil, false, known
	}
	spec, err = compute()
	var no *plan.Unplaceable
	if isNew = errors.As(err, &no); isNew {
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.seen == nil {
			a.seen = map[types.NamespacedName]answer{}
		}
		a.seen[q.placement] = answer{q, no}
	}
	return spec, isNew, err
}

// known returns the refusal that is remembered for a question; nil where there is none.
func (a *answers) known(q question) *plan.Unplaceable {
	a.mu.Lock()
	defer a.mu.Unlock()
	if known, found := a.seen[q.placement]; found && known.question == q {
		return known.refusal
	}
	return nil
}

// improve replaces the refusal of a question by one that says more. It does nothing where another question was asked meanwhile.
func (a *answers) improve(q question, refusal *plan.Unplaceable) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.seen[q.placement].question == q {
		a.seen[q.placement] = answer{q, refusal}
	}
}

// crowded says whether a placement was refused while a node lacked room.
func (a *answers) crowded(key types.NamespacedName) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seen[key].crowded
}

func (a *answers) forget(key types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.seen, key)
}
