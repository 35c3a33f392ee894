package scale

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// notReady takes nodes with placements away, as many as are asked for at once, and waits until each placement on them has another plan, or says
// why not. The nodes come back afterwards.
func (r *run) notReady(ctx context.Context) error {
	affected, nodes, err := r.affected(ctx)
	if err != nil {
		return err
	}
	all := func(status corev1.ConditionStatus) error {
		return r.Parallel(ctx, "nodes", writers, len(nodes), func(ctx context.Context, i int) error { return r.SetReady(ctx, nodes[i], status) })
	}
	replanned, explained := 0, 0
	begun := r.clock()
	used, err := r.used(ctx, func() error {
		if err := all(corev1.ConditionUnknown); err != nil {
			return err
		}
		_, err := r.follower.Await(ctx, fmt.Sprintf("replanned or explained, on %d nodes", len(nodes)), len(affected), func(f Followed) bool {
			was, is := affected[f.Now.Name]
			return is && (another(f.Now, was) || explains(f.Now))
		})
		return err
	})
	if err != nil {
		return err
	}
	took := r.clock().Sub(begun) - grace*time.Second
	_, _ = r.follower.Await(ctx, "", 0, func(f Followed) bool {
		if was, is := affected[f.Now.Name]; is && another(f.Now, was) {
			replanned++
		} else if is {
			explained++
		}
		return false
	})
	r.report.within(
		fmt.Sprintf("%d nodes not ready until %d placements are replanned and %d explained, beyond their grace", len(nodes), replanned, explained), took, 10*time.Second)
	r.report.addCalls("for each of them", used, len(affected))
	return all(corev1.ConditionTrue)
}

// affected are the plans of placements on the first nodes that have any, and these nodes.
func (r *run) affected(ctx context.Context) (map[string]string, []string, error) {
	var plans v1alpha1.ShardingPlanList
	if err := r.Client.List(ctx, &plans, client.InNamespace(Home)); err != nil {
		return nil, nil, fmt.Errorf("plans: %w", err)
	}
	lost, affected := map[string]bool{}, map[string]string{}
	var nodes []string
	for pass := range 2 { // nodes first, then all that is on them
		for i := range plans.Items {
			for _, name := range plans.Items[i].Spec.NodeNames() {
				if pass == 0 && !lost[name] && len(nodes) < r.NotReady {
					lost[name] = true
					nodes = append(nodes, name)
				}
				if pass == 1 && lost[name] {
					affected[plans.Items[i].Spec.Placement.Name] = plans.Items[i].Name
				}
			}
		}
	}
	return affected, nodes, nil
}

// another says whether a placement has another plan in force than it had.
func another(p *v1alpha1.ModelPlacement, was string) bool {
	said := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionPlaced)
	return p.Status.Plan != was && said != nil && said.Reason == v1alpha1.ReasonPlaced
}

// explains says whether a placement says why it keeps a plan that has lost devices.
func explains(p *v1alpha1.ModelPlacement) bool {
	for _, kind := range []string{v1alpha1.ConditionPlaced, v1alpha1.ConditionReady} {
		if said := meta.FindStatusCondition(p.Status.Conditions, kind); said != nil && unanswered[said.Reason] {
			return true
		}
	}
	return false
}

// unanswered are reasons for which a loss is not answered.
var unanswered = map[string]bool{"TooManyNodesLost": true, "ReplanLimited": true, "TooFewDevices": true, "TooLarge": true}
