package placement

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/ledger"
)

// observe finds the placement's plans, the one in force, and what it lost. Of several active plans the last is in force
// and the others are released; that takes a lost ledger to happen.
func (r *Reconciler) observe(ctx context.Context, p *pass) error {
	var plans v1alpha1.ShardingPlanList
	err := r.Client.List(ctx, &plans, client.InNamespace(p.placement.Namespace), client.MatchingLabels{v1alpha1.LabelPlacement: p.placement.Name})
	if err != nil {
		return fmt.Errorf("list plans of placement: %w", err)
	}
	p.plans = slices.DeleteFunc(plans.Items, func(plan v1alpha1.ShardingPlan) bool { return !metav1.IsControlledBy(&plan, p.placement) })
	inForce := active(p.plans)
	for i := range inForce[:max(0, len(inForce)-1)] {
		if err := r.Ledger.Release(ctx, &inForce[i]); err != nil {
			return err
		}
	}
	if len(inForce) == 0 {
		return nil
	}
	p.plan = &inForce[len(inForce)-1]
	p.lost, err = r.lostOf(ctx, p.plan)
	return err
}

// active returns the active plans in order of their revisions.
func active(plans []v1alpha1.ShardingPlan) []v1alpha1.ShardingPlan {
	var in []v1alpha1.ShardingPlan
	for i := range plans {
		if ledger.Active(&plans[i]) && plans[i].DeletionTimestamp.IsZero() {
			in = append(in, plans[i])
		}
	}
	slices.SortFunc(in, func(a, b v1alpha1.ShardingPlan) int { return cmp.Compare(a.Spec.Revision, b.Spec.Revision) })
	return in
}

// lostOf reads the nodes of a plan and returns its lost devices; their ranks are not known yet.
func (r *Reconciler) lostOf(ctx context.Context, plan *v1alpha1.ShardingPlan) ([]v1alpha1.LostRank, error) {
	hosts := map[string]host{}
	for _, row := range plan.Spec.Nodes {
		if _, known := hosts[row.Node]; known {
			continue
		}
		var node corev1.Node
		var inventory v1alpha1.AcceleratorInventory
		h, err := host{}, r.Client.Get(ctx, client.ObjectKey{Name: row.Node}, &node)
		if h.gone = apierrors.IsNotFound(err); err != nil && !h.gone {
			return nil, fmt.Errorf("read node %s of plan %s: %w", row.Node, plan.Name, err)
		}
		err = r.Client.Get(ctx, client.ObjectKey{Name: row.Node}, &inventory)
		if err == nil {
			h.inventory = &inventory
		} else if !apierrors.IsNotFound(err) {
			return nil, fmt.Errorf("read inventory %s of plan %s: %w", row.Node, plan.Name, err)
		}
		hosts[row.Node] = h
	}
	return lostDevices(plan.Spec.Nodes, hosts), nil
}

// release frees the devices of a placement without copies, and ends the pass.
func (r *Reconciler) release(ctx context.Context, p *pass) error {
	if replicas(p.placement) > 0 {
		return nil
	}
	for i := range p.plans {
		if err := r.Ledger.Release(ctx, &p.plans[i]); err != nil {
			return err
		}
	}
	p.plan, p.lost = nil, nil
	if err := r.deleteMesh(ctx, p); err != nil {
		return err
	}
	p.report.refuse("ScaledToZero", "spec.replicas is 0: no devices are reserved. Raise it to place the model.")
	return errStop
}

func replicas(placement *v1alpha1.ModelPlacement) int32 {
	if placement.Spec.Replicas == nil {
		return 1
	}
	return *placement.Spec.Replicas
}
