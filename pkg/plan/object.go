package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Object returns the object of a revision of a placement's plan, without an owner. The spec is copied.
func Object(placement *v1alpha1.ModelPlacement, spec *v1alpha1.ShardingPlanSpec, revision int64) *v1alpha1.ShardingPlan {
	made := &v1alpha1.ShardingPlan{
		TypeMeta: metav1.TypeMeta{APIVersion: v1alpha1.GroupVersion.String(), Kind: "ShardingPlan"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: placement.Namespace, Name: fmt.Sprintf("%s-%d", placement.Name, revision), Labels: Labels(placement, revision),
		},
		Spec: *spec.DeepCopy(),
	}
	made.Spec.Placement = v1alpha1.PlacementRef{Name: placement.Name, UID: string(placement.UID), Generation: placement.Generation, RequestHash: RequestHash(&placement.Spec)}
	made.Spec.Revision = revision
	return made
}

// Labels returns the labels of the objects that are made for a revision of a placement's plan: placement and revision.
func Labels(placement *v1alpha1.ModelPlacement, revision int64) map[string]string {
	return map[string]string{v1alpha1.LabelPlacement: placement.Name, v1alpha1.LabelRevision: strconv.FormatInt(revision, 10)}
}

// RequestHash returns a hash of what a spec asks of a plan. The number of copies is left out, of which those that are there are
// kept, and so is what does not bear on a plan.
func RequestHash(spec *v1alpha1.ModelPlacementSpec) string {
	asked := *spec
	asked.Replicas, asked.Suspend, asked.RevisionHistoryLimit, asked.ProgressDeadlineSeconds = nil, false, nil, nil
	asked.FailurePolicy, asked.PriorityClassName, asked.Verification = v1alpha1.FailurePolicy{}, "", nil
	asked.Launch, asked.WorkloadRef, asked.TTLSecondsWithoutPods = nil, nil, nil
	text, _ := json.Marshal(&asked) // of plain values, which cannot fail
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:8])
}
