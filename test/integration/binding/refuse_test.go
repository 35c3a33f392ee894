package binding

import (
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/binding"
	"github.com/rankwright/rankwright/test/operation"
)

func TestRefusalsReachTheAuthor(t *testing.T) {
	w := newWorld(t, "refused")
	w.operate(nil)
	w.addNode("a", 2)
	w.place("llm", 1, v1alpha1.EnforcementAdvisory)
	w.place("waiting", 1, v1alpha1.EnforcementAdvisory)
	w.awaitPlan("llm-1")
	isController := true
	deployed := w.pod("deployed", nil)
	deployed.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "llm", UID: "1", Controller: &isController}}
	kueue := w.pod("kueue", map[string]string{binding.LabelIndex: "0"})
	kueue.Annotations = map[string]string{"kueue.x-k8s.io/podset-required-topology": "rack"}
	tests := []struct {
		pod    *corev1.Pod
		reason string
	}{
		{w.pod("beyond", map[string]string{binding.LabelIndex: "1"}), binding.ReasonIndexOutOfRange},
		{w.pod("unnumbered", nil), binding.ReasonIndexUnknown},
		{w.pod("stray", map[string]string{v1alpha1.LabelPlacement: "nobody"}), binding.ReasonPlacementMissing},
		{w.pod("early", map[string]string{v1alpha1.LabelPlacement: "waiting", binding.LabelIndex: "0"}), binding.ReasonMeshMissing},
		{deployed, binding.ReasonWorkloadUnknown},
		{kueue, binding.ReasonTopologyByKueue},
	}
	for _, test := range tests {
		t.Run(test.pod.Name, func(t *testing.T) {
			err := w.Create(t.Context(), test.pod)
			if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), test.reason+": ") {
				t.Errorf("%v, want a refusal with %s", err, test.reason)
			}
		})
	}
	// Pods that their author bound are left as they are.
	own := w.pod("own", map[string]string{v1alpha1.LabelPlan: "llm-1"})
	w.Must(w.Create(t.Context(), own))
	if binding.Gated(own) || len(own.Spec.Containers[0].Env) > 0 {
		t.Errorf("gates %v, variables %v", own.Spec.SchedulingGates, own.Spec.Containers[0].Env)
	}
}

func TestPodsWithoutTheWebhook(t *testing.T) {
	w := newWorld(t, "down")
	stop := w.operate(nil)
	w.addNode("a", 2)
	w.place("llm", 1, v1alpha1.EnforcementAdvisory)
	w.awaitPlan("llm-1")
	stop()

	refused := w.pod("refused", map[string]string{binding.LabelIndex: "0"})
	if err := w.Create(t.Context(), refused); !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), "pods.rankwright.dev") {
		t.Errorf("policy Fail: %v, want a refusal that names the webhook", err)
	}
	for _, namespace := range []string{"kube-system", operation.Namespace, operation.AgentNamespace} {
		excluded := w.pod("excluded", nil)
		excluded.Namespace = namespace
		excluded.Spec.ServiceAccountName = "default"
		w.Eventually("pods of "+namespace+" need no webhook", created(w, excluded))
		w.Must(w.Delete(t.Context(), excluded, client.GracePeriodSeconds(0)))
	}
	unlabelled := w.pod("unlabelled", nil)
	unlabelled.Labels = nil
	w.Must(w.Create(t.Context(), unlabelled))

	w.Install(admissionv1.Ignore)
	ignored := w.pod("ignored", map[string]string{binding.LabelIndex: "0"})
	w.Eventually("policy Ignore lets pods pass", created(w, ignored))
	if binding.Gated(ignored) {
		t.Error("a pod is gated without the webhook")
	}
}
