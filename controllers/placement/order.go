package placement

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/rankwright/rankwright/api/v1alpha1"
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

// upTo returns the placements that want devices and are served no later than the one given, which comes last.
func (r *Reconciler) upTo(ctx context.Context, last *v1alpha1.ModelPlacement) ([]ranked, error) {
	var classes schedulingv1.PriorityClassList
	if err := r.Client.List(ctx, &classes); err != nil {
		return nil, fmt.Errorf("list priority classes: %w", err)
	}
	var placements v1alpha1.ModelPlacementList
	if err := r.Client.List(ctx, &placements); err != nil {
		return nil, fmt.Errorf("list placements: %w", err)
	}
	self := ranked{last, priorityOf(last, classes.Items)}
	var before []ranked
	for i := range placements.Items {
		other := ranked{&placements.Items[i], priorityOf(&placements.Items[i], classes.Items)}
		if other.placement.UID != last.UID && wants(other.placement) && compare(other, self) < 0 {
			before = append(before, other)
		}
	}
	slices.SortFunc(before, compare)
	return append(before, self), nil
}

// wants says whether a placement may be waiting for devices, by what is known without its plan.
func wants(placement *v1alpha1.ModelPlacement) bool {
	placed := meta.FindStatusCondition(placement.Status.Conditions, v1alpha1.ConditionPlaced)
	settled := []string{v1alpha1.ReasonPlaced, v1alpha1.ReasonExpired}
	return placement.DeletionTimestamp.IsZero() && wanted(placement) &&
		(placed == nil || !slices.Contains(settled, placed.Reason) || placed.ObservedGeneration != placement.Generation)
}
