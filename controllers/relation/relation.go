// Package relation says which objects another one concerns, for the watches and indexes of controllers.
package relation

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
)

// PodEnded lets through what may have given devices back: pods that ended or are gone.
var PodEnded = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	UpdateFunc: func(e event.UpdateEvent) bool {
		before, wasPod := e.ObjectOld.(*corev1.Pod)
		after, isPod := e.ObjectNew.(*corev1.Pod)
		return !wasPod || !isPod || fleet.Holds(before) && !fleet.Holds(after)
	},
}

// Respecified lets through new specs, also where an object was made anew under its name while nothing of it was seen: its generation begins
// anew too, and may be the same.
var Respecified = predicate.Or[client.Object](predicate.GenerationChangedPredicate{}, predicate.Funcs{
	UpdateFunc: func(e event.UpdateEvent) bool { return e.ObjectOld.GetUID() != e.ObjectNew.GetUID() },
})

// PlacementOf asks for the placement whose label an object has. Its mesh has the same name.
func PlacementOf(_ context.Context, object client.Object) []reconcile.Request {
	name := object.GetLabels()[v1alpha1.LabelPlacement]
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: name}}}
}

// NodesOf returns the nodes of a plan in order of name; an object of another kind has none.
func NodesOf(object client.Object) []string {
	plan, isPlan := object.(*v1alpha1.ShardingPlan)
	if !isPlan {
		return nil
	}
	return plan.Spec.NodeNames()
}
