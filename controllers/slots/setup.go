package slots

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/relation"
	"github.com/rankwright/rankwright/pkg/fleet"
)

// Indexes of the cache: plans with slots and pods, by their nodes.
const (
	planNodeField = "slots.node"
	podNodeField  = "spec.nodeName"
)

// Setup adds the controller to a manager.
func (r *Reconciler) Setup(ctx context.Context, mgr manager.Manager) error {
	for _, index := range []struct {
		object client.Object
		field  string
		nodes  client.IndexerFunc
	}{{&v1alpha1.ShardingPlan{}, planNodeField, nodesOfPlan}, {&corev1.Pod{}, podNodeField, nodeOfPod}} {
		if err := mgr.GetFieldIndexer().IndexField(ctx, index.object, index.field, index.nodes); err != nil {
			return err
		}
	}
	return ctrl.NewControllerManagedBy(mgr).
		Named("slots").
		For(&v1alpha1.AcceleratorInventory{}).
		Watches(&v1alpha1.ShardingPlan{}, handler.EnqueueRequestsFromMapFunc(requestsBy(nodesOfPlan))).
		Watches(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(requestsBy(nodeOfPod)), builder.WithPredicates(podEnded())).
		Complete(r)
}

// nodesOfPlan are the nodes of a plan that has slots.
func nodesOfPlan(object client.Object) []string {
	plan, isPlan := object.(*v1alpha1.ShardingPlan)
	if !isPlan || !keeps(plan) {
		return nil
	}
	return relation.NodesOf(plan)
}

func nodeOfPod(object client.Object) []string {
	pod, isPod := object.(*corev1.Pod)
	if !isPod || pod.Spec.NodeName == "" {
		return nil
	}
	return []string{pod.Spec.NodeName}
}

func requestsBy(nodes client.IndexerFunc) handler.MapFunc {
	return func(_ context.Context, object client.Object) []reconcile.Request {
		var requests []reconcile.Request
		for _, node := range nodes(object) {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Name: node}})
		}
		return requests
	}
}

// podEnded is true when a pod may have given a device back.
func podEnded() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			after, isPod := e.ObjectNew.(*corev1.Pod)
			return !isPod || !fleet.Holds(after)
		},
	}
}
