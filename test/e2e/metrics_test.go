//go:build linux

package e2e

import (
	"net"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/test/controlplane"
)

// metricsReader returns the token of an account that may read metrics.
func (s *site) metricsReader(t *testing.T) string {
	t.Helper()
	token, err := s.ControlPlane.MetricsReader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// metricsOf returns where a pod of ours serves its metrics.
func metricsOf(pod *corev1.Pod) string { return net.JoinHostPort(pod.Status.PodIP, "8080") }

// checkMetrics reads the metrics of the agent of a node and of every operator as Prometheus does, and as who may not.
func (s *site) checkMetrics(t *testing.T, node, stranger string) {
	t.Helper()
	operators, err := s.clients.CoreV1().Pods(operatorNamespace).List(t.Context(), metav1.ListOptions{FieldSelector: "status.phase=Running"})
	if err != nil || len(operators.Items) == 0 {
		t.Fatalf("pods of operators: %v, %v", operators, err)
	}
	reader := s.metricsReader(t)
	for _, pod := range append(operators.Items, *s.agentOf(t, node)) {
		for token, want := range map[string]int{"": http.StatusUnauthorized, "nobody": http.StatusUnauthorized, stranger: http.StatusForbidden, reader: http.StatusOK} {
			status, text, err := controlplane.Scrape(t.Context(), metricsOf(&pod), token)
			if status != want || strings.Contains(text, "rankwright_") != (want == http.StatusOK) {
				t.Errorf("metrics of pod %s: status %d, %v, want %d: %.200s", pod.Name, status, err, want, text)
			}
		}
	}
}
