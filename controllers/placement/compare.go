package placement

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/objects"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/pkg/site"
)

// restShare is how many times as long as a comparison took nothing is compared after it. So comparing takes at most a tenth of one
// processor, however many placements and nodes there are; only a round grows longer with them.
const restShare = 9

// comparison is what came of comparing one plan with a fresh one.
type comparison struct {
	compared
	// epoch is that of the snapshot.
	epoch     int64
	condition metav1.Condition
}

// answers says whether it is what a comparison would find: nothing is different, or there was no better plan and nothing is better since.
func (c *comparison) answers(q compared, now concern) bool {
	same := q
	same.fingerprint = c.fingerprint
	return c.compared == q || c.compared == same && c.condition.Status == metav1.ConditionFalse && !now.Better(c.epoch)
}

// compared is all that a comparison depends on, but for what the planner is: what was asked, and the plan in force.
type compared struct {
	question
	plan types.UID
}

// Compare looks once a period, on one snapshot of the cluster, for plans that are better than those in force, one placement after another.
// It changes no plan: what it finds is said in the condition Improvable. It works until the context ends.
func (r *Reconciler) Compare(ctx context.Context, period time.Duration) error {
	for rest(ctx, period) {
		if err := r.compareAll(ctx); err != nil && ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).Error(err, "compare plans in force with fresh ones")
		}
	}
	return nil
}

// rest waits, and says whether there is more to do after it.
func rest(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

func (r *Reconciler) compareAll(ctx context.Context) error {
	var plans v1alpha1.ShardingPlanList
	if err := r.Client.List(ctx, &plans); err != nil {
		return fmt.Errorf("list plans: %w", err)
	}
	var placements v1alpha1.ModelPlacementList
	if err := r.Client.List(ctx, &placements); err != nil {
		return fmt.Errorf("list placements: %w", err)
	}
	now, err := r.Index.Read(ctx, plans.Items)
	if err != nil {
		return err
	}
	fingerprint := now.Fingerprint()
	for i := range placements.Items {
		began := time.Now()
		if err := r.compare(ctx, &placements.Items[i], now, fingerprint); err != nil {
			return err
		}
		if !rest(ctx, restShare*time.Since(began)) {
			return nil
		}
	}
	return nil
}

// compare looks for a better plan of one placement, as if what it holds were free, and has it reconciled where something else is to be said
// than before. It asks the planner where the placement has a plan, needs no other, and something changed since it was last asked.
func (r *Reconciler) compare(ctx context.Context, placement *v1alpha1.ModelPlacement, now *fleet.Snapshot, fingerprint string) error {
	own := plan.InForce(now.Plans, placement)
	if len(own) != 1 || !wanted(placement) || wants(placement) || !placement.DeletionTimestamp.IsZero() {
		return nil
	}
	model, err := r.model(ctx, placement)
	var unknown *unresolved
	if errors.As(err, &unknown) || err == nil && needOf(placement, &own[0], nil, model) != needNothing {
		return nil
	}
	if err != nil {
		return err
	}
	may, err := r.allowed(ctx, placement, now.Plans, own)
	if err != nil {
		return err
	}
	request := shape.Request{Placement: placement, Model: model.Model, Cause: shape.OtherRequest, Discreet: true, Previous: &own[0].Spec}
	demand, err := r.demand(ctx, &request, now)
	if err != nil {
		return err
	}
	var calibrations string
	if request.Site, calibrations, err = r.calibrations(ctx); err != nil {
		return err
	}
	key := client.ObjectKeyFromObject(placement)
	of := compared{question{key, placement.UID, placement.Generation, model.version, fingerprint, "", demand, calibrations, may.most, request.Room.Short()}, own[0].UID}
	if last := r.comparisons.Get(key); last.answers(of, concernOf(placement, now)) {
		return nil
	}
	product := productOf(now, &own[0].Spec)
	condition, err := r.improvable(ctx, request, product, may, now.Cluster(placement.UID, own, evicts(placement, now.Pods)))
	if err != nil {
		return err
	}
	r.comparisons.Set(key, comparison{of, now.Epoch(), *condition})
	if said := meta.FindStatusCondition(placement.Status.Conditions, v1alpha1.ConditionImprovable); said == nil ||
		said.Status != condition.Status || said.Reason != condition.Reason || said.Message != condition.Message || said.ObservedGeneration != placement.Generation {
		r.reconcile(ctx, placement)
	}
	return nil
}

// improvable compares the plan in force, which the request has as the previous one, with the one that would be made if the spec were new.
// Product is that of its first device.
func (r *Reconciler) improvable(ctx context.Context, request shape.Request, product string, may allowance, cluster *fleet.Cluster) (*metav1.Condition, error) {
	var fresh *v1alpha1.ShardingPlanSpec
	err := objects.Guarded(ctx, func() (err error) {
		if fresh, err = r.limited(ctx, mostBudget, cluster, request); err == nil {
			err = may.devices(fresh.Totals.Devices)
		}
		return err
	})
	var no *plan.Unplaceable
	var invalid *shape.InvalidRequest
	var refused *objects.Refused
	switch {
	case errors.As(err, &no), errors.As(err, &invalid):
		return condition(v1alpha1.ConditionImprovable, metav1.ConditionFalse, "NoOtherPlan", "No other plan can be made: "+sentence(err.Error())), nil
	case errors.As(err, &refused):
		return condition(v1alpha1.ConditionImprovable, metav1.ConditionUnknown, refused.Reason, sentence(refused.Error())), nil
	case err != nil:
		return nil, err
	case plan.SameLayout(request.Previous, fresh):
		return condition(v1alpha1.ConditionImprovable, metav1.ConditionFalse, "NoBetterPlan", "A plan that was made now would be the same."), nil
	default:
		inForce, workload := *request.Previous, &request.Placement.Spec.Workload
		inForce.Estimate = site.Moved(&inForce, product, workload.Inference, request.Site)
		return improvement(workload, &inForce, fresh), nil
	}
}

// productOf is the product of a plan's first device; "" where its node is not known.
func productOf(now *fleet.Snapshot, spec *v1alpha1.ShardingPlanSpec) string {
	inventory := now.Host(spec.Nodes[0].Node).Inventory
	if inventory == nil {
		return ""
	}
	if device := inventory.Status.Device(spec.Nodes[0].Devices[0]); device != nil {
		return device.Product
	}
	return ""
}

// evicts returns for which nodes a plan would have its pods evicted there.
func evicts(placement *v1alpha1.ModelPlacement, pods []*corev1.Pod) func(*fleet.Host) bool {
	var own []corev1.Pod
	for _, p := range pods {
		if p.Namespace == placement.Namespace && p.Labels[v1alpha1.LabelPlacement] == placement.Name {
			own = append(own, *p)
		}
	}
	return func(h *fleet.Host) bool { return fleet.Tainted(h, own) != nil }
}

// improvableCondition is what is known of a plan better than the one in force. What the status says of this plan and spec stands until this
// operator has compared them; nil where nothing is known.
func (r *Reconciler) improvableCondition(p *pass) *metav1.Condition {
	known := r.comparisons.Get(client.ObjectKeyFromObject(p.placement))
	if known.uid == p.placement.UID && known.plan == p.plan.UID && known.generation == p.placement.Generation {
		return &known.condition
	}
	said := meta.FindStatusCondition(p.placement.Status.Conditions, v1alpha1.ConditionImprovable)
	if said == nil || p.placement.Status.Plan != p.plan.Name || said.ObservedGeneration != p.placement.Generation {
		return nil
	}
	return said
}
