package placement

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	apply "github.com/rankwright/rankwright/api/v1alpha1/applyconfiguration/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/applied"
)

// maxLostRanks bounds the list in the status; the condition has the full count.
const maxLostRanks = 512

// writeMeshStatus says which members are lost and what the slowest links are, where that changed.
func (r *Reconciler) writeMeshStatus(ctx context.Context, p *pass, slowest []v1alpha1.SlowestLink) error {
	current := p.mesh.Status
	next := meshStatus(&current, p.mesh.Generation, len(p.lost), p.lost, r.Now())
	next.SlowestLinks = slowest
	// What a verification measured is not the operator's to write.
	next.Verified, current.Verified = nil, nil
	next.Findings, current.Findings = nil, nil
	// Other conditions have other writers.
	current.Conditions = slices.DeleteFunc(slices.Clone(current.Conditions), func(c metav1.Condition) bool {
		return meta.FindStatusCondition(next.Conditions, c.Type) == nil
	})
	if equality.Semantic.DeepEqual(current, next) {
		return nil
	}
	var patch apply.DeviceMeshStatusApplyConfiguration
	if err := applied.Configure(next, &patch); err != nil {
		return err
	}
	mesh := apply.DeviceMesh(p.mesh.Name, p.mesh.Namespace).WithStatus(&patch)
	if err := r.Client.Status().Apply(ctx, mesh, client.FieldOwner(v1alpha1.OperatorFieldManager)); err != nil {
		return fmt.Errorf("apply status of mesh %s: %w", p.mesh.Name, err)
	}
	return nil
}

func meshStatus(current *v1alpha1.DeviceMeshStatus, generation int64, count int, lost []v1alpha1.LostRank, now time.Time) v1alpha1.DeviceMeshStatus {
	ready := metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, Reason: "AllMembers", Message: "No member is lost."}
	degraded := metav1.Condition{Type: v1alpha1.ConditionDegraded, Status: metav1.ConditionFalse, Reason: "AllMembers", Message: "No member is lost."}
	if count > 0 {
		text := describeLost(lost)
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, "MembersLost", text
		degraded.Status, degraded.Reason, degraded.Message = metav1.ConditionTrue, "MembersLost", text
	}
	next := v1alpha1.DeviceMeshStatus{LostRanks: lost[:min(count, maxLostRanks)]}
	next.Conditions = mergeConditions(current.Conditions, generation, now, ready, degraded)
	return next
}

// mergeConditions returns conditions; a condition whose status did not change keeps its time from current.
func mergeConditions(current []metav1.Condition, generation int64, now time.Time, conditions ...metav1.Condition) []metav1.Condition {
	merged := slices.DeleteFunc(slices.Clone(current), func(old metav1.Condition) bool {
		return !slices.ContainsFunc(conditions, func(c metav1.Condition) bool { return c.Type == old.Type })
	})
	for _, c := range conditions {
		c.ObservedGeneration, c.LastTransitionTime = generation, metav1.NewTime(now).Rfc3339Copy()
		meta.SetStatusCondition(&merged, c)
	}
	return merged
}

// describeLost says how many devices are lost and names the first.
func describeLost(lost []v1alpha1.LostRank) string {
	first := lost[0]
	return fmt.Sprintf("%d of the plan's devices are lost; the first is %s on node %s (%s).", len(lost), first.Device, first.Node, first.Reason)
}
