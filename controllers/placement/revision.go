package placement

import (
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/history"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/plan"
)

// newPlan makes the object of a plan, which also has the placement's spec.
func newPlan(placement *v1alpha1.ModelPlacement, spec *v1alpha1.ShardingPlanSpec, revision int64) (*v1alpha1.ShardingPlan, error) {
	made := plan.Object(placement, spec, revision)
	made.OwnerReferences = []metav1.OwnerReference{*ownerReference(placement)}
	return made, history.Note(made, placement)
}

func ownerReference(placement *v1alpha1.ModelPlacement) *metav1.OwnerReference {
	return metav1.NewControllerRef(placement, v1alpha1.GroupVersion.WithKind("ModelPlacement"))
}

// nextRevision is above every revision that the placement ever had, by its status and by the last number in the ledger, whatever became
// of the plans, and above those of its name that anything still speaks of: plans, earlier placements' included, and pods. A pod names its
// plan, so a plan must not get the name of one whose pods still run.
func nextRevision(now *fleet.Snapshot, placement *v1alpha1.ModelPlacement, last int64) int64 {
	last = max(last, placement.Status.Revision)
	for i := range now.Plans {
		if p := &now.Plans[i]; p.Namespace == placement.Namespace {
			last = max(last, revisionIn(placement.Name, p.Name))
		}
	}
	for _, pod := range now.Pods {
		if pod.Namespace == placement.Namespace {
			last = max(last, revisionIn(placement.Name, pod.Labels[v1alpha1.LabelPlan]))
		}
	}
	return last + 1
}

// revisionIn returns the revision in the name of a plan of the placement, and 0 for other names.
func revisionIn(placement, name string) int64 {
	number, isOurs := strings.CutPrefix(name, placement+"-")
	revision, err := strconv.ParseInt(number, 10, 64)
	if !isOurs || err != nil || revision < 0 {
		return 0
	}
	return revision
}
