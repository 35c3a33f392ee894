// Package drain holds drains of nodes for placements that ask for it (spec.failurePolicy.drain): a PodDisruptionBudget keeps their pods from
// being evicted by others, but those that are released. The operator releases a pod before it evicts it itself, and those of a cordoned node
// when the time of the drain is over. That copies move off cordoned nodes is decided by controllers/losses, and done by controllers/binding.
package drain

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/objects"
	"github.com/rankwright/rankwright/controllers/relation"
	"github.com/rankwright/rankwright/controllers/slots"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/binding"
	"github.com/rankwright/rankwright/pkg/fleet"
)

// defaultTimeout is spec.failurePolicy.drain.timeoutSeconds where the API server did not fill it in.
const defaultTimeout = 3600

// Reconciler keeps the budgets of placements, and releases pods whose time is over.
type Reconciler struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Reader reads from the API server: the cache has no budgets but ours.
	Reader client.Reader
	// Events takes the events of placements.
	Events events.EventRecorder
	// Now is the clock.
	Now func() time.Time
}

// Setup adds the controller to a manager that has the one of slots.
func (r *Reconciler) Setup(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("drain").
		For(&v1alpha1.ModelPlacement{}, builder.WithPredicates(relation.Respecified)).
		Watches(&policyv1.PodDisruptionBudget{}, handler.EnqueueRequestsFromMapFunc(relation.PlacementOf), builder.WithPredicates(relation.Respecified)).
		Watches(&v1alpha1.DeviceMesh{}, handler.EnqueueRequestsFromMapFunc(relation.PlacementOf), builder.WithPredicates(relation.Respecified)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(relation.PlacementOf), builder.WithPredicates(changed(standingOf))).
		Watches(&corev1.Node{}, handler.EnqueueRequestsFromMapFunc(r.onNode), builder.WithPredicates(changed(cordoned))).
		WithOptions(controller.Options{RateLimiter: objects.Retry()}).
		Complete(objects.Patient(r, objects.Retry()))
}

// standing is what a budget takes from a pod.
type standing struct {
	node, plan, released string
	holds, ending        bool
}

func standingOf(pod *corev1.Pod) standing {
	return standing{pod.Spec.NodeName, pod.Labels[v1alpha1.LabelPlan], pod.Labels[v1alpha1.LabelReleased], fleet.Holds(pod), !pod.DeletionTimestamp.IsZero()}
}

func cordoned(node *corev1.Node) bool { return node.Spec.Unschedulable }

// changed lets through the updates of objects that change what is taken from them.
func changed[O client.Object, T comparable](take func(O) T) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, is := e.ObjectOld.(O)
		after, isToo := e.ObjectNew.(O)
		return !is || !isToo || take(before) != take(after)
	}}
}

// onNode returns the placements of the pods on a node.
func (r *Reconciler) onNode(ctx context.Context, node client.Object) []reconcile.Request {
	var pods corev1.PodList
	if err := r.Client.List(ctx, &pods, client.MatchingFields{slots.PodNodeField: node.GetName()}); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list pods of node", "node", node.GetName())
	}
	var requests []reconcile.Request
	for i := range pods.Items {
		requests = append(requests, relation.PlacementOf(ctx, &pods.Items[i])...)
	}
	return requests
}

// Reconcile brings the budget of a placement up to date, and the labels of the pods that it is to hold. Without a mesh there is none: nobody
// would move the pods. Deleting a placement deletes its budget, where the cluster's garbage collector runs.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	placement, mesh, budget := &v1alpha1.ModelPlacement{}, &v1alpha1.DeviceMesh{}, &policyv1.PodDisruptionBudget{}
	found, err := objects.Read(ctx, r.Client, request.NamespacedName, placement)
	if err != nil || found && !placement.DeletionTimestamp.IsZero() {
		return ctrl.Result{}, err
	}
	if _, err := objects.Read(ctx, r.Client, client.ObjectKey{Namespace: request.Namespace, Name: nameOf(request.Name)}, budget); err != nil {
		return ctrl.Result{}, err
	}
	if !found || isOurs(budget) && !metav1.IsControlledBy(budget, placement) {
		return ctrl.Result{}, r.drop(ctx, budget) // once it is gone, the placement's own is made
	}
	if _, err := objects.Read(ctx, r.Client, request.NamespacedName, mesh); err != nil {
		return ctrl.Result{}, err
	}
	pods, err := r.pods(ctx, placement)
	if err != nil {
		return ctrl.Result{}, err
	}
	if placement.Spec.FailurePolicy.Drain == nil || !mesh.Spec.Placement.Is(placement) {
		return ctrl.Result{}, errors.Join(r.drop(ctx, budget), r.label(ctx, pods, nil, mesh.Spec.Plan))
	}
	return r.hold(ctx, placement, mesh, budget, pods)
}

// pods returns the pods of a placement that run or are about to.
func (r *Reconciler) pods(ctx context.Context, placement *v1alpha1.ModelPlacement) ([]corev1.Pod, error) {
	var list corev1.PodList
	err := r.Client.List(ctx, &list, client.InNamespace(placement.Namespace), client.MatchingLabels{v1alpha1.LabelPlacement: placement.Name})
	if err != nil {
		return nil, fmt.Errorf("list pods of placement %s: %w", placement.Name, err)
	}
	return slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool {
		return pod.Spec.NodeName == "" || !fleet.Holds(&pod) || !pod.DeletionTimestamp.IsZero()
	}), nil
}

// hold keeps the budget of a placement that has a mesh, and releases the pods whose time is over.
func (r *Reconciler) hold(
	ctx context.Context, placement *v1alpha1.ModelPlacement, mesh *v1alpha1.DeviceMesh, budget *policyv1.PodDisruptionBudget, pods []corev1.Pod,
) (ctrl.Result, error) {
	nodes, err := r.cordoned(ctx, pods)
	if err != nil {
		return ctrl.Result{}, err
	}
	places, err := (&binding.Offer{Placement: placement, Mesh: mesh}).Places()
	if _, refused := errors.AsType[*binding.Refusal](err); err != nil && !refused {
		return ctrl.Result{}, err
	}
	known, now := readCordons(budget), r.Now()
	since := known.of(nodes, now)
	// The budget counts pods by number: one that the plan does not count, of a copy that goes, would let another one be evicted.
	all := max(len(places), len(heldPods(pods, "")))
	if err := r.keep(ctx, placement, budget, budgetOf(placement, all, since)); err != nil {
		return ctrl.Result{}, err
	}
	timeout := time.Duration(ptr.Deref(placement.Spec.FailurePolicy.Drain.TimeoutSeconds, defaultTimeout)) * time.Second
	over, wait := map[string]bool{}, time.Duration(0)
	for _, node := range slices.Sorted(maps.Keys(since)) {
		until := since[node].Add(timeout)
		left := until.Sub(now)
		if over[node] = left <= 0; !over[node] && (wait == 0 || left < wait) {
			wait = left
		}
		_, said := known[node]
		r.tell(placement, node, len(heldPods(pods, node)), until, over[node], said)
	}
	return ctrl.Result{RequeueAfter: wait}, r.label(ctx, pods, over, mesh.Spec.Plan)
}

// cordoned returns the nodes of pods that are cordoned.
func (r *Reconciler) cordoned(ctx context.Context, pods []corev1.Pod) (map[string]bool, error) {
	asked, found := map[string]bool{}, map[string]bool{}
	for i := range pods {
		name := pods[i].Spec.NodeName
		if asked[name] {
			continue
		}
		asked[name] = true
		node := &corev1.Node{}
		there, err := objects.Read(ctx, r.Client, client.ObjectKey{Name: name}, node)
		if err != nil {
			return nil, err
		}
		if there && cordoned(node) {
			found[name] = true
		}
	}
	return found, nil
}

// label releases the pods of the nodes whose time is over, and holds those again that were released and stay.
func (r *Reconciler) label(ctx context.Context, pods []corev1.Pod, over map[string]bool, plan string) error {
	var failed []error
	for i := range pods {
		pod := &pods[i]
		failed = append(failed, client.IgnoreNotFound(Release(ctx, r.Client, pod, reasonOf(pod, over[pod.Spec.NodeName], plan))))
	}
	return errors.Join(failed...)
}

// heldPods returns the pods on a node, of any where it is empty, that are not released.
func heldPods(pods []corev1.Pod, node string) []corev1.Pod {
	return slices.DeleteFunc(slices.Clone(pods), func(pod corev1.Pod) bool {
		return pod.Labels[v1alpha1.LabelReleased] != "" || node != "" && pod.Spec.NodeName != node
	})
}

// tell says by events that pods of a node are held, once, and that they are no longer.
func (r *Reconciler) tell(placement *v1alpha1.ModelPlacement, node string, pods int, until time.Time, over, said bool) {
	switch {
	case pods == 0:
	case over:
		r.Events.Eventf(placement, nil, corev1.EventTypeWarning, "DrainTimedOut", "Release",
			"node %s is cordoned for longer than spec.failurePolicy.drain.timeoutSeconds: its %s may be evicted now", node, words.Counted(pods, "pod"))
	case !said:
		r.Events.Eventf(placement, nil, corev1.EventTypeNormal, "DrainHeld", "Hold",
			"node %s is cordoned: until %s its %s are evicted only as their copies move", node, until.UTC().Format(time.RFC3339), words.Counted(pods, "pod"))
	}
}
