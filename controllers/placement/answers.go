package placement

import (
	"errors"
	"sync"
	"time"

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
	// epoch is that of the snapshot; until says how long the refusal stands before other placements are kept waiting for the question to be asked again.
	epoch int64
	until time.Time
}

// A refusal stands for restTimes as long as it took to find, at most mostRest: so each placement that cannot be placed has a hundredth of one
// processor at most, however busy the cluster is.
const (
	restTimes = 100
	mostRest  = 30 * time.Second
)

// ask returns the refusal that is remembered for a question, or computes the answer and remembers it if it is a refusal.
func (a *answers) ask(q question, epoch int64, clock func() time.Time, compute func() (*v1alpha1.ShardingPlanSpec, error)) (*v1alpha1.ShardingPlanSpec, error) {
	if known := a.known(q); known != nil {
		return nil, known
	}
	began := clock()
	spec, err := compute()
	var no *plan.Unplaceable
	if errors.As(err, &no) {
		now := clock()
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.seen == nil {
			a.seen = map[types.NamespacedName]answer{}
		}
		a.seen[q.placement] = answer{q, no, epoch, now.Add(min(restTimes*now.Sub(began), mostRest))}
	}
	return spec, err
}

// stands returns the epoch of the refusal of a placement, if that need not be looked at again now: nothing is known to be better for it, or it
// was looked at a moment ago.
func (a *answers) stands(placement *v1alpha1.ModelPlacement, epoch int64, now time.Time) (of int64, stands bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	known, found := a.seen[keyOf(placement)]
	return known.epoch, found && known.uid == placement.UID && known.generation == placement.Generation && (known.epoch == epoch || now.Before(known.until))
}

// rest returns how long the refusal of a placement still stands.
func (a *answers) rest(key types.NamespacedName, now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return max(0, a.seen[key].until.Sub(now))
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
	if known := a.seen[q.placement]; known.question == q {
		known.refusal = refusal
		a.seen[q.placement] = known
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
