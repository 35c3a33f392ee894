package placement

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/ledger"
	"github.com/rankwright/rankwright/controllers/meshes"
)

// observe finds the placement's plans, its plan in force, and what that lost. Of several active plans, which there are only after
// the ledger was lost, the last is in force and the others are released.
func (r *Reconciler) observe(ctx context.Context, p *pass) error {
	var plans v1alpha1.ShardingPlanList
	err := r.Client.List(ctx, &plans, client.InNamespace(p.placement.Namespace), client.MatchingLabels{v1alpha1.LabelPlacement: p.placement.Name})
	if err != nil {
		return fmt.Errorf("list plans of placement: %w", err)
	}
	p.plans = slices.DeleteFunc(plans.Items, func(plan v1alpha1.ShardingPlan) bool { return !metav1.IsControlledBy(&plan, p.placement) })
	inForce := ledger.InForce(p.plans)
	for i := range inForce[:max(0, len(inForce)-1)] {
		if err := r.Ledger.Release(ctx, &inForce[i]); err != nil {
			return err
		}
	}
	if len(inForce) == 0 {
		return nil
	}
	p.plan = &inForce[len(inForce)-1]
	hosts, err := meshes.Hosts(ctx, r.Client, p.plan.Spec.NodeNames())
	if err != nil {
		return fmt.Errorf("nodes of plan %s: %w", p.plan.Name, err)
	}
	p.lost = lostDevices(p.plan.Spec.Nodes, hosts) // their ranks are not known yet
	return nil
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

func replicas(placement *v1alpha1.ModelPlacement) int32 { return ptr.Deref(placement.Spec.Replicas, 1) }
