package placement

import (
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
)

// newPlan makes the object of a plan.
func newPlan(placement *v1alpha1.ModelPlacement, spec *v1alpha1.ShardingPlanSpec, revision int64) *v1alpha1.ShardingPlan {
	made := &v1alpha1.ShardingPlan{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       placement.Namespace,
			Name:            fmt.Sprintf("%s-%d", placement.Name, revision),
			Labels:          labelsFor(placement, revision),
			OwnerReferences: []metav1.OwnerReference{*ownerReference(placement)},
		},
		Spec: *spec.DeepCopy(),
	}
	made.Spec.Placement = v1alpha1.PlacementRef{Name: placement.Name, UID: string(placement.UID), Generation: placement.Generation}
	made.Spec.Revision = revision
	return made
}

func ownerReference(placement *v1alpha1.ModelPlacement) *metav1.OwnerReference {
	return metav1.NewControllerRef(placement, v1alpha1.GroupVersion.WithKind("ModelPlacement"))
}

func labelsFor(placement *v1alpha1.ModelPlacement, revision int64) map[string]string {
	return map[string]string{
		v1alpha1.LabelPlacement: placement.Name,
		v1alpha1.LabelRevision:  strconv.FormatInt(revision, 10),
	}
}

// nextRevision is above every revision of the placement's name that anything still speaks of: plans, earlier
// placements' included, pods, and the status. A pod names its plan, so a plan must not get the name of one whose pods
// still run.
func nextRevision(now *fleet.Snapshot, placement *v1alpha1.ModelPlacement) int64 {
	last := revisionIn(placement.Name, placement.Status.Plan)
	for i := range now.Plans {
		if plan := &now.Plans[i]; plan.Namespace == placement.Namespace {
			last = max(last, revisionIn(placement.Name, plan.Name))
		}
	}
	for i := range now.Pods {
		if pod := &now.Pods[i]; pod.Namespace == placement.Namespace {
			last = max(last, revisionIn(placement.Name, pod.Labels[v1alpha1.LabelPlan]))
		}
	}
	return last + 1
}

// revisionIn returns the revision in the name of a plan of the placement, and 0 for other names.
func revisionIn(placement, plan string) int64 {
	number, isOurs := strings.CutPrefix(plan, placement+"-")
	revision, err := strconv.ParseInt(number, 10, 64)
	if !isOurs || err != nil || revision < 0 {
		return 0
	}
	return revision
}
