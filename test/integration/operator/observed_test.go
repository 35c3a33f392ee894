package operator

import (
	"context"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/test/operation"
	"github.com/rankwright/rankwright/test/plantest"
)

// serveAs makes the first pod of placement llm, whose metrics are at an address of this machine.
func (w world) serveAs(address string) {
	w.Helper()
	at, err := url.Parse(address)
	w.Must(err)
	port, err := strconv.ParseInt(at.Port(), 10, 32)
	w.Must(err)
	labels := map[string]string{}
	for _, part := range strings.Split(w.placement("llm").Status.Selector, ",") {
		name, value, _ := strings.Cut(part, "=")
		labels[name] = value
	}
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: testNamespace, Name: "llm-0", Labels: labels},
		Spec: corev1.PodSpec{
			NodeName: "here", AutomountServiceAccountToken: new(bool),
			Containers: []corev1.Container{{Name: "model", Image: "model", Ports: []corev1.ContainerPort{{Name: "http", ContainerPort: int32(port)}}}},
		},
	}
	w.Must(w.Create(w.Context(), pod))
	pod.Status.Phase, pod.Status.PodIP, pod.Status.PodIPs = corev1.PodRunning, at.Hostname(), []corev1.PodIP{{IP: at.Hostname()}}
	pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	w.Must(w.Status().Update(w.Context(), pod))
}

// awaitAsEstimated waits until it is said of placement llm whether its pods are as fast as is estimated.
func (w world) awaitAsEstimated(status metav1.ConditionStatus, reason string) *v1alpha1.ModelPlacement {
	w.Helper()
	var p *v1alpha1.ModelPlacement
	w.Eventually("AsEstimated is "+string(status)+", "+reason, func(context.Context) bool {
		p = w.placement("llm")
		said := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionAsEstimated)
		return said != nil && said.Status == status && said.Reason == reason
	})
	return p
}

// TestPodsAreComparedWithWhatIsEstimated lets an engine be as fast as is estimated, and then three times slower: the status has both numbers, and the condition and
// an event say that it drifted.
func TestPodsAreComparedWithWhatIsEstimated(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.addProduct("here", plantest.L40s)
	w.RunOperator(operator.Options{Observing: 100 * time.Millisecond})
	w.placeForLatency()
	planned := w.awaitPlan("llm", "llm-1").Spec.Estimate.TPOTMicros.Value

	engine := operation.NewVLLM(time.Duration(planned)*time.Microsecond, 1)
	server := httptest.NewServer(engine)
	t.Cleanup(server.Close)
	w.serveAs(server.URL)
	seen := w.awaitAsEstimated(metav1.ConditionTrue, "WithinRanges").Status.Observed
	if seen == nil || seen.Concurrency != 1 || seen.OutputTokens < 2000 || seen.TokensPerSecond == 0 || seen.Estimate == nil {
		t.Fatalf("%+v", seen)
	}
	if ratio := float64(seen.TPOTMicros) / float64(planned); ratio < 0.9 || ratio > 1.1 {
		t.Errorf("%d µs per token are seen, and the engine has %d", seen.TPOTMicros, planned)
	}

	engine.SetPerToken(time.Duration(3*planned) * time.Microsecond)
	slow := w.awaitAsEstimated(metav1.ConditionFalse, "Slower")
	if c := meta.FindStatusCondition(slow.Status.Conditions, v1alpha1.ConditionAsEstimated); !strings.Contains(c.Message, "kubectl rankwright calibrate") {
		t.Errorf("message %q", c.Message)
	}
	w.awaitEvents("Slower")
}
