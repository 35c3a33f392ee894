package operator

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/test/plantest"
)

// vLLM is an HTTP endpoint with the metrics of a vLLM that answers requests of so many tokens in and out, a number of them at a time, each of
// which takes a time per token.
type vLLM struct {
	began         time.Time
	perToken      atomic.Int64 // microseconds
	input, output float64
	running       float64
}

// ServeHTTP writes what would have been counted until now.
func (e *vLLM) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	each := float64(e.perToken.Load()) / 1e6
	seconds := time.Since(e.began).Seconds() * 60000 // so that there are enough requests between two rounds
	n := seconds * e.running / (each * e.output)
	const labels = `model_name="llm"`
	histogram := func(name string, value float64) {
		_, _ = fmt.Fprintf(w, "# TYPE vllm:%s histogram\n", name)
		_, _ = fmt.Fprintf(w, "vllm:%s_bucket{le=\"%g\",%s} 0\nvllm:%s_bucket{le=\"%g\",%s} %g\nvllm:%s_bucket{le=\"+Inf\",%s} %g\n", name, value*0.98, labels, name, value*1.02, labels, n, name, labels, n)
		_, _ = fmt.Fprintf(w, "vllm:%s_count{%s} %g\nvllm:%s_sum{%s} %g\n", name, labels, n, name, labels, n*value)
	}
	histogram("time_to_first_token_seconds", 0.05)
	histogram("request_time_per_output_token_seconds", each)
	_, _ = fmt.Fprintf(w, "vllm:e2e_request_latency_seconds_sum{%s} %g\n", labels, time.Since(e.began).Seconds()*e.running)
	_, _ = fmt.Fprintf(w, "vllm:prompt_tokens_total{%s} %g\nvllm:generation_tokens_total{%s} %g\n", labels, n*e.input, labels, n*e.output)
}

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

	engine := &vLLM{began: time.Now(), input: 2048, output: 2048, running: 1}
	engine.perToken.Store(planned)
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

	engine.perToken.Store(3 * planned)
	slow := w.awaitAsEstimated(metav1.ConditionFalse, "Slower")
	if c := meta.FindStatusCondition(slow.Status.Conditions, v1alpha1.ConditionAsEstimated); !strings.Contains(c.Message, "kubectl rankwright calibrate") {
		t.Errorf("message %q", c.Message)
	}
	w.awaitEvents("Slower")
}
