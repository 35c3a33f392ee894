package binding

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/mesh/verification"
)

// The API server takes the pods that verify, and the operator's rights are enough to make the Secret with the key.
func TestPodsOfAJobVerifyFirst(t *testing.T) {
	w := newWorld(t, "verifier")
	w.operate(nil)
	w.addNode("a", 2)
	p := w.placement("llm", 1, v1alpha1.EnforcementAdvisory)
	p.Spec.Launch = &v1alpha1.Launch{DevicesPerPod: new(int32(1))}
	p.Spec.Verification = &v1alpha1.Verification{Mode: v1alpha1.VerificationRequire}
	w.Must(w.Create(t.Context(), p))
	w.awaitPlan("llm-1")
	w.runJob(2, 0)
	for index, pod := range w.awaitPods(2, "scheduled", scheduled) {
		if len(pod.Spec.InitContainers) != 1 {
			t.Fatalf("pod %s has init containers %+v", index, pod.Spec.InitContainers)
		}
		if c := pod.Spec.InitContainers[0]; c.Name != verification.Container || c.Image != verifierImage {
			t.Errorf("pod %s verifies by %+v", index, c)
		}
	}
	secret := &corev1.Secret{}
	w.Must(w.Get(t.Context(), client.ObjectKey{Namespace: w.Home, Name: verification.SecretName("llm")}, secret))
}
