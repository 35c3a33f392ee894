// Package readiness says in a placement's status what became of its pods: the conditions Ready and Progressing, and the copies that
// are there. It reads the informer cache alone and plans nothing; what a plan is, controllers/placement says in the condition Placed.
package readiness

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/applied"
	"github.com/rankwright/rankwright/controllers/objects"
	"github.com/rankwright/rankwright/controllers/relation"
	"github.com/rankwright/rankwright/pkg/binding"
	"github.com/rankwright/rankwright/pkg/launch"
)

// gathering is how long events of one placement are gathered: many pods become ready at once, and each is worth no write of its own.
const gathering = 250 * time.Millisecond

// unseen is how old a placement is when it is said that nobody has looked at it yet.
const unseen = time.Minute

// errBehind says that the cache shows a placement from before this process wrote its status: the API server would refuse another one.
var errBehind = errors.New("the cache has not caught up with the status that was written last")

// Reconciler says of placements whether their pods run as planned.
type Reconciler struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Events takes the events of placements.
	Events events.EventRecorder
	// Now is the clock.
	Now func() time.Time

	written applied.Versions
}

// Setup adds the controller to a manager.
func (r *Reconciler) Setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("readiness").
		Watches(&v1alpha1.ModelPlacement{}, gathered(itself)).
		Watches(&v1alpha1.DeviceMesh{}, gathered(relation.PlacementOf), builder.WithPredicates(relation.Respecified)).
		Watches(&corev1.Pod{}, gathered(relation.PlacementOf), builder.WithPredicates(podMatters())).
		// One at a time: what happens to a placement while others are written is one write of its own. With several, each of 60 placements
		// whose nodes failed had 4.2 writes of its status in place of 2.6.
		WithOptions(controller.Options{RateLimiter: objects.Retry()}).
		Complete(objects.Patient(r, objects.Retry()))
}

func itself(_ context.Context, placement client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(placement)}}
}

// gathered has the placements of an event reconciled once for all events of a short while.
func gathered(of handler.MapFunc) handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	add := func(ctx context.Context, object client.Object, to queue) {
		for _, request := range of(ctx, object) {
			to.AddAfter(request, gathering)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, to queue) { add(ctx, e.Object, to) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, to queue) {
			add(ctx, e.ObjectOld, to) // its labels may have named another placement
			add(ctx, e.ObjectNew, to)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, to queue) { add(ctx, e.Object, to) },
	}
}

// podMatters leaves out what changes nothing of where a pod stands.
func podMatters() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, isPod := e.ObjectOld.(*corev1.Pod)
		after, isToo := e.ObjectNew.(*corev1.Pod)
		return !isPod || !isToo || seenOf(before) != seenOf(after)
	}}
}

// Reconcile counts the pods of one placement.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	placement := &v1alpha1.ModelPlacement{}
	found, err := objects.Read(ctx, r.Client, request.NamespacedName, placement)
	if err == nil && !found {
		r.written.Forget(request.NamespacedName)
	}
	if err != nil || !found || !placement.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, err
	}
	now := r.Now()
	if unseen := untilSaid(placement, now); unseen > 0 {
		return ctrl.Result{RequeueAfter: unseen}, nil
	}
	count, err := r.count(ctx, placement)
	if err != nil {
		return ctrl.Result{}, err
	}
	part, wait := statusOf(placement, count, now)
	said := applied.Decided(&placement.Status)
	if next := with(&said, &part); !equality.Semantic.DeepEqual(said, next) {
		if err := r.write(ctx, placement, &said, &next); err != nil {
			return ctrl.Result{}, err
		}
	}
	return ctrl.Result{RequeueAfter: wait}, nil
}

// untilSaid is in how long it is said of a new placement that nobody has looked at it; 0 where it is not new, or that time has passed. What comes
// of it is said at once, by who looked at it.
func untilSaid(placement *v1alpha1.ModelPlacement, now time.Time) time.Duration {
	if len(placement.Status.Conditions) > 0 {
		return 0
	}
	return max(0, placement.CreationTimestamp.Add(unseen).Sub(now))
}

// Write writes what was decided of a placement together with what follows from it for its pods, as one status. Mesh and plan are those in force, which the
// cache need not have yet; nil where there are none.
func (r *Reconciler) Write(
	ctx context.Context, placement *v1alpha1.ModelPlacement, decided *v1alpha1.ModelPlacementStatus, mesh *v1alpha1.DeviceMesh, plan *v1alpha1.ShardingPlan,
) error {
	said := applied.Decided(&placement.Status)
	as := *placement
	as.Status = *decided
	as.Status.LastProgressTime, as.Status.Summary = said.LastProgressTime, said.Summary
	for _, kind := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionProgressing} {
		if c := meta.FindStatusCondition(said.Conditions, kind); c != nil {
			as.Status.Conditions = append(as.Status.Conditions, *c)
		}
	}
	count, err := r.countBy(ctx, &as, mesh, plan)
	if err != nil {
		return err
	}
	part, _ := statusOf(&as, count, r.Now())
	next := with(&as.Status, &part)
	return r.write(ctx, placement, &said, &next)
}

func (r *Reconciler) write(ctx context.Context, placement *v1alpha1.ModelPlacement, said, next *v1alpha1.ModelPlacementStatus) error {
	if r.written.After(placement, r.Now()) {
		return apierrors.NewConflict(v1alpha1.GroupVersion.WithResource("modelplacements").GroupResource(), placement.Name, errBehind)
	}
	version, err := applied.WriteDecided(ctx, r.Client, placement, next)
	if err != nil {
		return err
	}
	r.written.Note(placement, version, r.Now())
	r.tell(placement, said, next)
	return nil
}

// count reads mesh, plan and pods of a placement.
func (r *Reconciler) count(ctx context.Context, placement *v1alpha1.ModelPlacement) (*count, error) {
	key := client.ObjectKeyFromObject(placement)
	mesh, plan := &v1alpha1.DeviceMesh{}, &v1alpha1.ShardingPlan{}
	if found, err := objects.Read(ctx, r.Client, key, mesh); err != nil {
		return nil, err
	} else if !found {
		mesh = nil
	}
	if placement.Status.Plan == "" {
		return r.countBy(ctx, placement, mesh, nil)
	}
	if found, err := objects.Read(ctx, r.Client, types.NamespacedName{Namespace: key.Namespace, Name: placement.Status.Plan}, plan); err != nil {
		return nil, err
	} else if !found {
		plan = nil
	}
	return r.countBy(ctx, placement, mesh, plan)
}

// countBy counts the pods of a placement by its mesh and plan; either is nil where it is not there.
func (r *Reconciler) countBy(ctx context.Context, placement *v1alpha1.ModelPlacement, mesh *v1alpha1.DeviceMesh, plan *v1alpha1.ShardingPlan) (*count, error) {
	places, err := placesOf(placement, mesh)
	if err != nil {
		return nil, err
	}
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, client.InNamespace(placement.Namespace), client.MatchingLabels{v1alpha1.LabelPlacement: placement.Name}); err != nil {
		return nil, fmt.Errorf("list pods of placement: %w", err)
	}
	counted := countPods(placement, places, pods.Items)
	if plan != nil {
		counted.planned = plan.CreationTimestamp
	}
	return counted, nil
}

// placesOf returns the places of the pods of the plan in force; none where its mesh is not written yet, or no pods can be cut from it.
func placesOf(placement *v1alpha1.ModelPlacement, mesh *v1alpha1.DeviceMesh) ([]launch.Pod, error) {
	if mesh == nil || !mesh.Spec.Placement.Is(placement) || placement.Status.Mesh == "" || mesh.Spec.Plan != placement.Status.Plan {
		return nil, nil
	}
	places, err := (&binding.Offer{Placement: placement, Mesh: mesh}).Places()
	if _, refused := errors.AsType[*binding.Refusal](err); refused {
		return nil, nil
	}
	return places, err
}

// tell records what changed between two statuses.
func (r *Reconciler) tell(placement *v1alpha1.ModelPlacement, before, after *v1alpha1.ModelPlacementStatus) {
	record := func(kind, reason, note string) { r.Events.Eventf(placement, nil, kind, reason, "RunPods", "%s", note) }
	of := func(status *v1alpha1.ModelPlacementStatus, kind string) metav1.Condition {
		if c := meta.FindStatusCondition(status.Conditions, kind); c != nil {
			return *c
		}
		return metav1.Condition{}
	}
	ready, progressing := of(after, v1alpha1.ConditionReady), of(after, v1alpha1.ConditionProgressing)
	was := meta.IsStatusConditionTrue(before.Conditions, v1alpha1.ConditionReady)
	switch is := ready.Status == metav1.ConditionTrue; {
	case is && !was:
		record(corev1.EventTypeNormal, v1alpha1.ConditionReady, ready.Message)
	case was && !is && slices.Contains(unhindered, of(after, v1alpha1.ConditionPlaced).Reason):
		record(corev1.EventTypeWarning, ready.Reason, ready.Message)
	}
	if progressing.Reason == reasonDeadline && of(before, v1alpha1.ConditionProgressing).Reason != reasonDeadline {
		record(corev1.EventTypeWarning, reasonDeadline, progressing.Message)
	}
}
