package verification

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Container is the name of the container that verifies, wherever in a pod it stands.
const Container = "rankwright-verify"

// Where the container finds the mesh's key.
const (
	KeyFolder = "/etc/rankwright/key"
	KeyFile   = "key"
)

// SecretName returns the name of the Secret with the key of a mesh. A mesh has the name of its placement.
func SecretName(mesh string) string { return mesh + "-mesh-key" }

// Final says whether the verification of a mesh is over for its present plan: pods that come later find nobody to
// verify with, and start. Under Require it is over only when nothing was wrong. What was found before it was asked for anew
// is no end.
func Final(m *v1alpha1.DeviceMesh, asked *v1alpha1.Verification) bool {
	c := meta.FindStatusCondition(m.Status.Conditions, v1alpha1.ConditionVerified)
	if !asked.Asked() || c == nil || c.ObservedGeneration != m.Generation || !asked.Counts(c.LastTransitionTime) {
		return false
	}
	return c.Status == metav1.ConditionTrue || c.Status == metav1.ConditionFalse && asked.Mode == v1alpha1.VerificationReport
}
