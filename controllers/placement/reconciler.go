// Package placement turns a ModelPlacement into a ShardingPlan and a DeviceMesh, and keeps them true: it resolves the
// model, plans and reserves, writes the mesh, and says in the status what it did or why it could not.
package placement

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/applied"
	"github.com/rankwright/rankwright/controllers/course"
	"github.com/rankwright/rankwright/controllers/history"
	"github.com/rankwright/rankwright/controllers/ledger"
	"github.com/rankwright/rankwright/controllers/objects"
	"github.com/rankwright/rankwright/controllers/readiness"
	"github.com/rankwright/rankwright/controllers/snapshot"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/shape"
)

// Planner makes a plan, or says why there is none by *plan.Unplaceable or *plan.InvalidRequest; where the context ends before there is
// an answer it returns the context's error. It must be pure: equal arguments give equal answers, and answers are remembered.
type Planner func(context.Context, *fleet.Cluster, shape.Request) (*v1alpha1.ShardingPlanSpec, error)

// DefaultPlanner is plan.Within. Its type is written out so that the signature is checked here.
var DefaultPlanner Planner = plan.Within

// Reconciler reconciles ModelPlacements, several at once. Who gets devices is decided for all that wait together, one round after another: the
// order in which placements get devices is part of its promise.
type Reconciler struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Reader reads from the API server.
	Reader client.Reader
	// Ledger is the fence of reservations.
	Ledger *ledger.Ledger
	// Planner makes plans.
	Planner Planner
	// Index says what plans are computed from.
	Index *snapshot.Index
	// Tally says what pods ask of nodes; nil counts every node as empty.
	Tally *snapshot.Tally
	// Tenants say what the placements of a namespace may have.
	Tenants Tenants
	// History keeps the specs of placements.
	History *history.Keeper
	// Readiness writes the status.
	Readiness *readiness.Reconciler
	// Events takes the events of placements.
	Events events.EventRecorder
	// Metrics takes what is counted.
	Metrics *Metrics
	// Course takes how long steps took.
	Course *course.Recorder
	// Now is the clock.
	Now func() time.Time

	answers     answers
	setbacks    setbacks
	comparisons objects.Memo[comparison]
	sites       sites
	// seen are the losses of placements as they were dated last.
	seen objects.Memo[dated]
	// told is what was told last of each placement.
	told objects.Memo[tale]
	// asked is since when placements have needed a plan that they do not have yet, or whose mesh is not written.
	asked objects.Memo[time.Time]
	// meshes are those whose status was written.
	meshes  applied.Versions
	rounds  rounds
	adviser *adviser
	// again takes placements that are to be reconciled though no watch tells of them.
	again chan event.GenericEvent
}

// pass is one reconciliation: what is known about a placement, filled by the steps in their order.
type pass struct {
	placement *v1alpha1.ModelPlacement
	// plans are the placement's plans from the cache; plan is the one in force, nil where none is.
	plans []v1alpha1.ShardingPlan
	plan  *v1alpha1.ShardingPlan
	// mesh is the mesh of the plan in force.
	mesh     *v1alpha1.DeviceMesh
	resolved *resolved
	// lost are the ranks that cannot run, for the losses that state has.
	lost   []v1alpha1.LostRank
	state  state
	report report
	// waits says that a plan is committed for the placement which cannot become active yet, so that no other is made.
	waits bool
	// improvable says whether there is a better plan than the one in force; nil where that is not known.
	improvable *metav1.Condition
	// failed is what keeps the placement from being as it should be, and what concerns it alone; nil where nothing does. It is tried again
	// after a time that grows.
	failed error
	// withoutPods is since when the placement has had no pod, where that is counted.
	withoutPods *metav1.Time
	// discards is when a plan of the placement is removed that nobody committed; zero where there is none, or it was done.
	discards time.Time
	// retry is when a placement is tried again that is not planned for a while; 0 where it is not so.
	retry time.Duration
}

// step does one thing for a placement. It returns errStop to leave out the steps that follow, except the status.
type step func(context.Context, *pass) error

var errStop = errors.New("nothing further to do")

// Reconcile brings one placement forward. What it may do is in config/rbac/operator.yaml.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	placement := &v1alpha1.ModelPlacement{}
	found, err := objects.Read(ctx, r.Client, request.NamespacedName, placement)
	if err != nil {
		return ctrl.Result{}, err
	}
	if !found {
		r.answers.forget(request.NamespacedName)
		r.setbacks.Forget(request.NamespacedName)
		r.comparisons.Forget(request.NamespacedName)
		r.seen.Forget(request.NamespacedName)
		r.told.Forget(request.NamespacedName)
		r.asked.Forget(request.NamespacedName)
		r.meshes.Forget(request.NamespacedName)
		return ctrl.Result{}, r.deleteLeft(ctx, request.NamespacedName)
	}
	if !placement.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, nil
	}
	return r.run(ctx, &pass{placement: placement})
}

// run goes through the steps and then writes the status. After an error nothing is written, since what was not looked at
// would be denied; but what the API server refused for good is said.
func (r *Reconciler) run(ctx context.Context, p *pass) (ctrl.Result, error) {
	var failed error
	for _, do := range []step{r.observe, r.release, r.expire, r.settle, r.resolve, r.reserve, r.connect} {
		if failed = objects.Guarded(ctx, func() error { return do(ctx, p) }); failed != nil {
			break
		}
	}
	var refused *objects.Refused
	switch {
	case failed == nil || errors.Is(failed, errStop):
		if err := errors.Join(p.failed, r.writeStatus(ctx, p)); err != nil {
			return ctrl.Result{}, err // tried again sooner than what is due
		}
		return ctrl.Result{RequeueAfter: p.after(r.Now())}, nil
	case errors.Is(failed, errFullRound):
		return ctrl.Result{RequeueAfter: time.Millisecond}, nil // behind those that were served
	case errors.Is(failed, errLate):
		return ctrl.Result{RequeueAfter: shareTimes * mostAsking}, nil
	case errors.Is(failed, ledger.ErrConflict):
		r.Metrics.Conflicts.Inc()
		return ctrl.Result{RequeueAfter: contentionDelay()}, nil
	case errors.As(failed, &refused):
		p.report.failed(refused)
		p.failed = failed
		return ctrl.Result{}, errors.Join(failed, r.writeStatus(ctx, p))
	case apierrors.IsForbidden(failed) || apierrors.IsInvalid(failed):
		p.report.refuse("Refused", failed.Error())
		return ctrl.Result{}, errors.Join(failed, r.writeStatus(ctx, p))
	default:
		return ctrl.Result{}, failed
	}
}

// after is when a placement is reconciled again though nothing happens; 0 where it is not.
func (p *pass) after(now time.Time) time.Duration {
	const least = time.Millisecond
	due := []time.Time{p.state.verdict.Wake, p.discards}
	if p.plan != nil {
		due = append(due, p.expiry())
	}
	wait := p.retry
	for _, at := range due {
		if left := max(at.Sub(now), least); !at.IsZero() && (wait == 0 || left < wait) {
			wait = left
		}
	}
	return wait
}

// contentionDelay is random so that two operators that met do not meet again in step.
func contentionDelay() time.Duration {
	const least, spread = 20 * time.Millisecond, 300 * time.Millisecond
	return least + rand.N(spread)
}
