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
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
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

// fieldManager writes this controller's part of the status of placements.
const fieldManager = "rankwright-readiness"

// podField indexes pods by their placement.
const podField = "metadata.labels." + v1alpha1.LabelPlacement

// gathering is how long events of one placement are gathered: many pods become ready at once, and each is worth no write of its own.
const gathering = 250 * time.Millisecond

// Reconciler says of placements whether their pods run as planned.
type Reconciler struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Events takes the events of placements.
	Events events.EventRecorder
	// Now is the clock.
	Now func() time.Time
}

// Setup adds the controller to a manager.
func (r *Reconciler) Setup(ctx context.Context, mgr ctrl.Manager) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &corev1.Pod{}, podField, placementName); err != nil {
		return fmt.Errorf("index pods by placement: %w", err)
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("readiness").
		Watches(&v1alpha1.ModelPlacement{}, gathered(itself)).
		Watches(&v1alpha1.DeviceMesh{}, gathered(relation.PlacementOf), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&corev1.Pod{}, gathered(relation.PlacementOf), builder.WithPredicates(podMatters())).
		Complete(r)
}

func placementName(pod client.Object) []string {
	return []string{pod.GetLabels()[v1alpha1.LabelPlacement]}
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
	if err != nil || !found || !placement.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, err
	}
	count, err := r.count(ctx, placement)
	if err != nil {
		return ctrl.Result{}, err
	}
	now := r.Now()
	before := ownPart(&placement.Status)
	next, wait := statusOf(placement, count, now)
	if !equality.Semantic.DeepEqual(before, next) {
		if err := applied.PlacementStatus(ctx, r.Client, placement, &next, fieldManager); err != nil {
			return ctrl.Result{}, err
		}
		r.tell(placement, &before, &next)
	}
	return ctrl.Result{RequeueAfter: wait}, nil
}

// count reads mesh and pods of a placement.
func (r *Reconciler) count(ctx context.Context, placement *v1alpha1.ModelPlacement) (*count, error) {
	places, err := r.places(ctx, placement)
	if err != nil {
		return nil, err
	}
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, client.InNamespace(placement.Namespace), client.MatchingFields{podField: placement.Name}); err != nil {
		return nil, fmt.Errorf("list pods of placement: %w", err)
	}
	counted := countPods(placement, places, pods.Items)
	if placement.Status.Plan == "" {
		return counted, nil
	}
	plan := &v1alpha1.ShardingPlan{}
	if _, err = objects.Read(ctx, r.Client, types.NamespacedName{Namespace: placement.Namespace, Name: placement.Status.Plan}, plan); err == nil {
		counted.planned = plan.CreationTimestamp
	}
	return counted, err
}

// places returns the places of the pods of the plan in force; none where its mesh is not written yet, or no pods can be cut from it.
func (r *Reconciler) places(ctx context.Context, placement *v1alpha1.ModelPlacement) ([]launch.Pod, error) {
	mesh := &v1alpha1.DeviceMesh{}
	found, err := objects.Read(ctx, r.Client, client.ObjectKeyFromObject(placement), mesh)
	if err != nil || !found || !mesh.Spec.Placement.Is(placement) || placement.Status.Mesh == "" || mesh.Spec.Plan != placement.Status.Plan {
		return nil, err
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
	ready, progressing := after.Conditions[0], after.Conditions[1]
	was := meta.IsStatusConditionTrue(before.Conditions, v1alpha1.ConditionReady)
	placed := meta.FindStatusCondition(placement.Status.Conditions, v1alpha1.ConditionPlaced)
	switch is := ready.Status == metav1.ConditionTrue; {
	case is && !was:
		record(corev1.EventTypeNormal, v1alpha1.ConditionReady, ready.Message)
	case was && !is && placed != nil && slices.Contains(unhindered, placed.Reason):
		record(corev1.EventTypeWarning, ready.Reason, ready.Message)
	}
	if said := meta.FindStatusCondition(before.Conditions, v1alpha1.ConditionProgressing); progressing.Reason == reasonDeadline && (said == nil || said.Reason != reasonDeadline) {
		record(corev1.EventTypeWarning, reasonDeadline, progressing.Message)
	}
}
