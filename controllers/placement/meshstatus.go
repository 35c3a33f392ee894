package placement

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/applied"
	"github.com/rankwright/rankwright/internal/words"
)

// maxLostRanks bounds the list in the status; the condition has the full count.
const maxLostRanks = 512

// writeMeshStatus says which members are lost and what the slowest links are, where that changed. The rest of the status has
// other writers. Where the cache has an older mesh than was written last, the mesh comes back when it has that one.
func (r *Reconciler) writeMeshStatus(ctx context.Context, p *pass, slowest []v1alpha1.SlowestLink) error {
	next := v1alpha1.DeviceMeshStatus{ObservedGeneration: p.mesh.Generation, LostRanks: p.lost[:min(len(p.lost), maxLostRanks)], SlowestLinks: slowest}
	current := v1alpha1.DeviceMeshStatus{
		ObservedGeneration: p.mesh.Status.ObservedGeneration, LostRanks: p.mesh.Status.LostRanks, SlowestLinks: p.mesh.Status.SlowestLinks,
	}
	for _, condition := range lossConditions(p.lost) {
		next.Conditions = append(next.Conditions, applied.MeshCondition(p.mesh, condition, r.Now()))
		if said := meta.FindStatusCondition(p.mesh.Status.Conditions, condition.Type); said != nil {
			current.Conditions = append(current.Conditions, *said)
		}
	}
	if equality.Semantic.DeepEqual(current, next) || r.meshes.After(p.mesh, r.Now()) {
		return nil
	}
	version, err := applied.MeshStatus(ctx, r.Client, p.mesh, &next, v1alpha1.OperatorFieldManager)
	if err == nil {
		r.meshes.Note(p.mesh, version, r.Now())
	}
	return err
}

// lossConditions say whether members of a mesh are lost.
func lossConditions(lost []v1alpha1.LostRank) []metav1.Condition {
	ready, degraded, reason, text := metav1.ConditionTrue, metav1.ConditionFalse, "AllMembers", "No member is lost."
	if len(lost) > 0 {
		ready, degraded, reason, text = metav1.ConditionFalse, metav1.ConditionTrue, "MembersLost", describeLost(lost)
	}
	return []metav1.Condition{
		{Type: v1alpha1.ConditionReady, Status: ready, Reason: reason, Message: text},
		{Type: v1alpha1.ConditionDegraded, Status: degraded, Reason: reason, Message: text},
	}
}

// describeLost says how many devices are lost and names the first.
func describeLost(lost []v1alpha1.LostRank) string {
	first := lost[0]
	named := fmt.Sprintf("%s on node %s (%s)", first.Device, first.Node, first.Reason)
	if more := len(lost) - 1; more > 0 {
		return fmt.Sprintf("%s are lost: %s and %d more.", words.Counted(len(lost), "device"), named, more)
	}
	return fmt.Sprintf("1 device is lost: %s.", named)
}
