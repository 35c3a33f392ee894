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
	// costs is what all that are remembered took to find.
	costs time.Duration
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
	// epoch is that of the snapshot, cost how long the refusal took to find.
	epoch int64
	cost  time.Duration
	// until says how long the refusal stands before other placements are kept waiting for the question to be asked again, stale from when on
	// its numbers are looked at again although nothing is better.
	until, stale time.Time
	// old says that it answered for another state of the cluster than it is of, so that its numbers may be wrong.
	old bool
}

// A refusal stands for restTimes as long as it took to find, and for shareTimes as long as all that are remembered took, at most mostRest. So a
// placement that cannot be placed has a hundredth of one processor at most, and all of them together a fifth, however busy the cluster is.
const (
	restTimes  = 100
	shareTimes = 5
	mostRest   = 30 * time.Second
)

// epochs are what is better for a placement since when.
type epochs interface {
	Epoch() int64
	Better(epoch int64) bool
}

// ahead says whether a time is yet to come that was set to be at most so far ahead. Where it is further the clock was set back since.
func ahead(until, now time.Time, most time.Duration) bool {
	left := until.Sub(now)
	return left > 0 && left <= most
}

// ask returns the refusal that is remembered for a question, or computes the answer and remembers it if it is a refusal. What is remembered of
// another state of the cluster counts for a while, if nothing is better since.
func (a *answers) ask(q question, now epochs, clock func() time.Time, compute func() (*v1alpha1.ShardingPlanSpec, error)) (*v1alpha1.ShardingPlanSpec, error) {
	began := clock()
	if known := a.remembered(q, now, began); known != nil {
		return nil, known
	}
	spec, err := compute()
	var no *plan.Unplaceable
	if errors.As(err, &no) {
		a.remember(q, no, now.Epoch(), began, clock())
	}
	return spec, err
}

func (a *answers) remember(q question, no *plan.Unplaceable, epoch int64, began, ended time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.seen == nil {
		a.seen = map[types.NamespacedName]answer{}
	}
	cost := ended.Sub(began)
	a.costs += cost - a.seen[q.placement].cost
	rest := min(max(restTimes*cost, shareTimes*a.costs), mostRest)
	a.seen[q.placement] = answer{question: q, refusal: no, epoch: epoch, cost: cost, until: ended.Add(rest), stale: ended.Add(mostRest)}
}

// remembered returns the refusal that answers a question as the cluster is now; nil where there is none.
func (a *answers) remembered(q question, now epochs, at time.Time) *plan.Unplaceable {
	a.mu.Lock()
	defer a.mu.Unlock()
	known, found := a.seen[q.placement]
	same := known.question
	same.fingerprint = q.fingerprint
	if !found || same != q || known.fingerprint != q.fingerprint && (!ahead(known.stale, at, mostRest) || now.Better(known.epoch)) {
		return nil
	}
	known.old = known.fingerprint != q.fingerprint
	a.seen[q.placement] = known
	return known.refusal
}

// due returns how long until a refusal is to be looked at again that answered for another state of the cluster; 0 where that is not so.
func (a *answers) due(key types.NamespacedName, now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if known := a.seen[key]; known.old && ahead(known.stale, now, mostRest) {
		return known.stale.Sub(now)
	}
	return 0
}

// standing says whether there is a refusal, and why it need not be looked at again.
type standing int

const (
	// unknown placements were not refused, or asked for something else then.
	unknown standing = iota
	// fallen refusals do not stand: something may be better.
	fallen
	// rested ones were found a moment ago, and something may be better since.
	rested
	// exact ones have nothing that is better since.
	exact
)

// stands says whether the refusal of a placement stands, and the epoch that it is of.
func (a *answers) stands(placement *v1alpha1.ModelPlacement, now epochs, at time.Time) (standing, int64) {
	a.mu.Lock()
	known, found := a.seen[keyOf(placement)]
	a.mu.Unlock()
	switch {
	case !found || known.uid != placement.UID || known.generation != placement.Generation:
		return unknown, 0
	case !now.Better(known.epoch):
		return exact, known.epoch
	case ahead(known.until, at, mostRest):
		return rested, known.epoch
	}
	return fallen, 0
}

// rest returns how long the refusal of a placement still stands. Idle says that what happened does not concern the placement, so that
// only the numbers of the refusal are to be looked at, in their time.
func (a *answers) rest(key types.NamespacedName, idle bool, now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	until := a.seen[key].until
	if idle {
		until = a.seen[key].stale
	}
	if ahead(until, now, mostRest) {
		return until.Sub(now)
	}
	return 0
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
	a.costs -= a.seen[key].cost
	delete(a.seen, key)
}
