package placement

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/snapshot"
)

// ranked is a placement with its priority.
type ranked struct {
	placement *v1alpha1.ModelPlacement
	priority  int32
}

// compare puts first what is served first: the higher priority, then the older, then the lesser name. No two placements
// are equal.
func compare(a, b ranked) int {
	return cmp.Or(
		cmp.Compare(b.priority, a.priority),
		a.placement.CreationTimestamp.Compare(b.placement.CreationTimestamp.Time),
		cmp.Compare(a.placement.Namespace, b.placement.Namespace),
		cmp.Compare(a.placement.Name, b.placement.Name),
	)
}

// priorityOf returns the priority of a placement, which without a class of its own is the cluster's default class's. A class that
// does not exist counts as 0, as it does for no pod: pods with it are refused, so that nobody is hurt by the placement's being
// served late.
func priorityOf(placement *v1alpha1.ModelPlacement, classes []schedulingv1.PriorityClass) int32 {
	wanted := placement.Spec.PriorityClassName
	for i := range classes {
		if wanted == "" && classes[i].GlobalDefault || wanted == classes[i].Name {
			return classes[i].Value
		}
	}
	return 0
}

// upTo returns, in their order, the placements of turns, and those that want devices and are served before the last of them.
func (r *Reconciler) upTo(ctx context.Context, turns map[types.UID]*turn) ([]ranked, error) {
	var classes schedulingv1.PriorityClassList
	if err := r.Client.List(ctx, &classes, client.UnsafeDisableDeepCopy); err != nil { // they are read and never written
		return nil, fmt.Errorf("list priority classes: %w", err)
	}
	placements, err := r.placements(ctx)
	if err != nil {
		return nil, err
	}
	var order []ranked
	for _, t := range turns {
		order = append(order, ranked{t.pass.placement, priorityOf(t.pass.placement, classes.Items)})
	}
	last := slices.MaxFunc(order, compare)
	for _, p := range placements {
		other := ranked{p, priorityOf(p, classes.Items)}
		if turns[other.placement.UID] == nil && wants(other.placement) && compare(other, last) < 0 {
			order = append(order, other)
		}
	}
	slices.SortFunc(order, compare)
	return order, nil
}

// placements returns all placements as the informer has them, which are not to be written.
func (r *Reconciler) placements(ctx context.Context) ([]*v1alpha1.ModelPlacement, error) {
	return snapshot.Informed(ctx, r.Index.Cache, &v1alpha1.ModelPlacement{}, &v1alpha1.ModelPlacementList{})
}

// wants says whether a placement may be waiting for devices, by what is known without its plan.
func wants(placement *v1alpha1.ModelPlacement) bool {
	placed := meta.FindStatusCondition(placement.Status.Conditions, v1alpha1.ConditionPlaced)
	settled := []string{v1alpha1.ReasonPlaced, v1alpha1.ReasonExpired}
	return placement.DeletionTimestamp.IsZero() && wanted(placement) &&
		(placed == nil || !slices.Contains(settled, placed.Reason) || placed.ObservedGeneration != placement.Generation)
}

func keyOf(placement *v1alpha1.ModelPlacement) types.NamespacedName {
	return types.NamespacedName{Namespace: placement.Namespace, Name: placement.Name}
}
