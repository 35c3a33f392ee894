package placement

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/objects"
	"github.com/rankwright/rankwright/controllers/relation"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/shape"
)

// maxConcurrent bounds how many placements are reconciled at once. Nearly all of that time they wait for the API server.
const maxConcurrent = 32

// planNodeField indexes plans by the nodes that they use.
const planNodeField = "spec.nodes.node"

// Setup adds the controller to a manager. Woken takes an event when something changed that no watch shows.
func (r *Reconciler) Setup(ctx context.Context, mgr ctrl.Manager, woken <-chan event.GenericEvent) error {
	if err := mgr.GetFieldIndexer().IndexField(ctx, &v1alpha1.ShardingPlan{}, planNodeField, relation.NodesOf); err != nil {
		return err
	}
	r.again, r.rounds.deciding = make(chan event.GenericEvent), make(chan struct{}, 1)
	r.adviser = newAdviser(&r.answers, r.again, r.Now)
	if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		r.adviser.run(ctx)
		return nil
	})); err != nil {
		return err
	}
	roomier := make(chan event.GenericEvent)
	if r.Tally != nil {
		if err := mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { return r.watchRoom(ctx, roomier) })); err != nil {
			return err
		}
	}
	onNode, later := r.onNode(), afterStart()
	waiting := handler.EnqueueRequestsFromMapFunc(r.waiting)
	return ctrl.NewControllerManagedBy(mgr).
		Named("placement").
		For(&v1alpha1.ModelPlacement{}, builder.WithPredicates(relation.Respecified)).
		Watches(&v1alpha1.ModelPlacement{}, r.followEnds()).
		Watches(&v1alpha1.ShardingPlan{}, r.followPlans()).
		Watches(&v1alpha1.DeviceMesh{}, handler.EnqueueRequestsFromMapFunc(relation.PlacementOf)).
		Watches(&v1alpha1.AcceleratorInventory{}, onNode, builder.WithPredicates(later, inventoryMatters())).
		Watches(&v1alpha1.SiteCalibration{}, waiting, builder.WithPredicates(later)).
		Watches(&corev1.Node{}, onNode, builder.WithPredicates(later, nodeMatters())).
		Watches(&corev1.Pod{}, waiting, builder.WithPredicates(relation.PodEnded)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(relation.PlacementOf), builder.WithPredicates(relation.PodEnded)).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(r.awaitingPod), builder.WithPredicates(onlyCreation())).
		WatchesMetadata(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.waitingIn), builder.WithPredicates(later, predicate.LabelChangedPredicate{})).
		WatchesMetadata(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(r.usersOfConfigMap), builder.WithPredicates(later)).
		WatchesRawSource(source.Channel(woken, handler.EnqueueRequestsFromMapFunc(r.all))).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(r.waitingWithPods), builder.WithPredicates(later, onlyCreation())).
		WatchesRawSource(source.Channel(roomier, handler.EnqueueRequestsFromMapFunc(r.waitingForRoom))).
		WatchesRawSource(source.Channel(r.again, &handler.EnqueueRequestForObject{})).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: maxConcurrent,
			RateLimiter:             retry(),
		}).
		Complete(objects.Patient(r, retry()))
}

// retry is when a placement is reconciled again for which something failed.
func retry() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](leastRetry, mostPause)
}

// followEnds tells the ledger of placements that are gone.
func (r *Reconciler) followEnds() handler.EventHandler {
	return handler.Funcs{DeleteFunc: func(_ context.Context, e event.DeleteEvent, _ queue) {
		if placement, is := e.Object.(*v1alpha1.ModelPlacement); is {
			r.Ledger.Ended(placement)
		}
	}}
}

// followPlans tells the ledger of plans before it has the placement of each reconciled, and when one is gone those that wait as well. Who got a plan in
// the turn of another gets its mesh and status before those that still wait.
func (r *Reconciler) followPlans() handler.EventHandler {
	owner := handler.EnqueueRequestsFromMapFunc(relation.PlacementOf)
	waiting := handler.EnqueueRequestsFromMapFunc(r.waiting)
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, queue queue) {
			r.shown(e.Object)
			if queue, is := queue.(priorityqueue.PriorityQueue[reconcile.Request]); is && !e.IsInInitialList {
				queue.AddWithOpts(priorityqueue.AddOpts{Priority: new(beforeWaiting)}, relation.PlacementOf(ctx, e.Object)...)
				return
			}
			owner.Create(ctx, e, queue)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, queue queue) {
			r.shown(e.ObjectNew)
			owner.Update(ctx, e, queue)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, queue queue) {
			if plan, is := e.Object.(*v1alpha1.ShardingPlan); is {
				r.Ledger.Gone(plan)
			}
			owner.Delete(ctx, e, queue)
			waiting.Delete(ctx, e, queue)
		},
	}
}

// beforeWaiting is the priority in the queue of what does not wait for devices.
const beforeWaiting = 1

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

func (r *Reconciler) shown(object client.Object) {
	if plan, is := object.(*v1alpha1.ShardingPlan); is {
		r.Ledger.Shown(plan)
	}
}

// onNode has the placements with a plan on a node reconciled, and those that wait when their refusal has stood for its time, which is longer where
// they may take none of the node's devices: nodes and inventories change all the time.
func (r *Reconciler) onNode() handler.EventHandler {
	enqueue := func(ctx context.Context, node client.Object, queue queue) {
		for _, request := range r.planned(ctx, node) {
			queue.Add(request)
		}
		concerns := concernedBy(node)
		for _, p := range r.placementsWhere(ctx, wants) {
			queue.AddAfter(reconcile.Request{NamespacedName: keyOf(p)}, r.answers.rest(keyOf(p), !concerns(p), r.Now()))
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, queue queue) { enqueue(ctx, e.Object, queue) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, queue queue) { enqueue(ctx, e.ObjectNew, queue) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, queue queue) { enqueue(ctx, e.Object, queue) },
	}
}

// concernedBy returns which placements may take devices of a node; by a Node itself, without its inventory, all may.
func concernedBy(node client.Object) func(*v1alpha1.ModelPlacement) bool {
	inventory, is := node.(*v1alpha1.AcceleratorInventory)
	if !is {
		return func(*v1alpha1.ModelPlacement) bool { return true }
	}
	classes := fleet.ClassesOf(inventory)
	return func(p *v1alpha1.ModelPlacement) bool {
		admits := shape.Admits(&p.Spec)
		return slices.ContainsFunc(classes, func(c fleet.Class) bool { return admits(&c) })
	}
}

// planned returns the placements with a plan on a node.
func (r *Reconciler) planned(ctx context.Context, node client.Object) []reconcile.Request {
	var plans v1alpha1.ShardingPlanList
	if err := r.Client.List(ctx, &plans, client.MatchingFields{planNodeField: node.GetName()}, client.UnsafeDisableDeepCopy); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list plans of node", "node", node.GetName())
	}
	var requests []reconcile.Request
	for i := range plans.Items {
		requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{
			Namespace: plans.Items[i].Namespace, Name: plans.Items[i].Spec.Placement.Name,
		}})
	}
	return requests
}

// all returns every placement: agents fell silent, or are heard of again.
func (r *Reconciler) all(ctx context.Context, _ client.Object) []reconcile.Request {
	return requestsOf(r.placementsWhere(ctx, func(*v1alpha1.ModelPlacement) bool { return true }))
}

// waiting returns the placements that are not as they should be.
func (r *Reconciler) waiting(ctx context.Context, _ client.Object) []reconcile.Request {
	return requestsOf(r.placementsWhere(ctx, wants))
}

// waitingIn returns the placements of a namespace that are not as they should be: what they may have hangs on the namespace's labels.
func (r *Reconciler) waitingIn(ctx context.Context, namespace client.Object) []reconcile.Request {
	return requestsOf(r.placementsWhere(ctx, func(p *v1alpha1.ModelPlacement) bool { return p.Namespace == namespace.GetName() && wants(p) }))
}

func (r *Reconciler) usersOfConfigMap(ctx context.Context, config client.Object) []reconcile.Request {
	return requestsOf(r.placementsWhere(ctx, func(p *v1alpha1.ModelPlacement) bool {
		key := p.Spec.Model.ConfigMap
		return key != nil && p.Namespace == config.GetNamespace() && key.Name == config.GetName()
	}))
}

// placementsWhere returns the placements for which something holds, which are not to be written.
func (r *Reconciler) placementsWhere(ctx context.Context, holds func(*v1alpha1.ModelPlacement) bool) []*v1alpha1.ModelPlacement {
	placements, err := r.placements(ctx)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "list placements")
	}
	return slices.DeleteFunc(placements, func(p *v1alpha1.ModelPlacement) bool { return !holds(p) })
}

func requestsOf(placements []*v1alpha1.ModelPlacement) []reconcile.Request {
	requests := make([]reconcile.Request, len(placements))
	for i, p := range placements {
		requests[i].NamespacedName = keyOf(p)
	}
	return requests
}

// afterStart leaves out what is there when the operator starts: every placement is looked at then, after all that is there is known.
func afterStart() predicate.Predicate {
	return predicate.Funcs{CreateFunc: func(e event.CreateEvent) bool { return !e.IsInInitialList }}
}

func onlyCreation() predicate.Predicate {
	return predicate.Funcs{
		UpdateFunc:  func(event.UpdateEvent) bool { return false },
		DeleteFunc:  func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
	}
}

// nodeMatters leaves out what a kubelet writes every few seconds.
func nodeMatters() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, isNode := e.ObjectOld.(*corev1.Node)
		after, isToo := e.ObjectNew.(*corev1.Node)
		return !isNode || !isToo || !equality.Semantic.DeepEqual(fleet.FactsOf(before), fleet.FactsOf(after))
	}}
}

// inventoryMatters leaves out writes of an inventory that say nothing else about its node than before.
func inventoryMatters() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, was := e.ObjectOld.(*v1alpha1.AcceleratorInventory)
		after, is := e.ObjectNew.(*v1alpha1.AcceleratorInventory)
		return !was || !is || !equality.Semantic.DeepEqual(stated(before), stated(after))
	}}
}

// stated is an inventory without times, versions and sums. A label or an annotation has those who hang on it looked at again, as people expect.
func stated(inventory *v1alpha1.AcceleratorInventory) *v1alpha1.AcceleratorInventory {
	is := &v1alpha1.AcceleratorInventory{Spec: inventory.Spec, Status: inventory.Status}
	is.UID, is.DeletionTimestamp, is.Labels, is.Annotations = inventory.UID, inventory.DeletionTimestamp, inventory.Labels, inventory.Annotations
	of := &is.Status
	of.ObservedGeneration, of.AgentVersion, of.Summary = 0, "", v1alpha1.InventorySummary{}
	of.Devices, of.Conditions = slices.Clone(of.Devices), slices.Clone(of.Conditions)
	for i := range of.Devices {
		of.Devices[i].Health.Since = nil
	}
	for i := range of.Conditions {
		of.Conditions[i].LastTransitionTime, of.Conditions[i].ObservedGeneration = metav1.Time{}, 0
	}
	return is
}
