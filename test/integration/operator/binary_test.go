package operator

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/test/controlplane"
	"github.com/rankwright/rankwright/test/operation"
)

// TestOperatorServesProbesAndMetrics runs the binary as a pod would, with leader election, and ends it as a kubelet would.
func TestOperatorServesProbesAndMetrics(t *testing.T) {
	w := newWorld(t, wholeCluster)
	binary := buildOperator(w)
	health, metrics, traces := freeAddress(w), freeAddress(w), startCollector(w)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), binary, "--kubeconfig", w.operatorKubeconfig(),
		"--namespace", operation.Namespace, "--health-address", health, "--metrics-address", metrics, "--traces", "http://"+traces.address)
	var log strings.Builder
	cmd.Stderr = &log
	w.Must(cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() })

	w.addNode("n1", 2)
	w.place(w.slottedPlacement("llm", 1, 2))
	w.awaitPlan("llm", "llm-1")
	w.awaitSlots(0, 1)
	w.place(w.PlacementOf("large", 2, 1))
	for _, path := range []string{"/healthz", "/readyz"} {
		if status, _ := get(w, "http://"+health+path); status != http.StatusOK {
			t.Errorf("GET %s: status %d", path, status)
		}
	}
	reader, err := w.Cluster.MetricsReader(t.Context())
	w.Must(err)
	w.Eventually("metrics are refused to who has no token", func(ctx context.Context) bool {
		status, _, _ := controlplane.Scrape(ctx, metrics, "")
		return status == http.StatusUnauthorized
	})
	w.Eventually("the metrics tell of the placement", func(ctx context.Context) bool {
		_, text, _ := controlplane.Scrape(ctx, metrics, reader)
		for _, line := range []string{
			`rankwright_placements{placed="True",ready="False",reason="NoPods"} 1`, `rankwright_devices{health="Healthy",holder="plan",vendor="nvidia"} 2`,
			"rankwright_ledger_conflicts_total ", `rankwright_placement_step_duration_seconds_count{step="mesh"} 1`,
			`rankwright_placement_wait_seconds_count{position="1"} 1`, `rankwright_api_requests_total{resource="shardingplans",verb="create"} 1`,
			`rankwright_refusals_total{reason="NoneFree"} `, "controller_runtime_reconcile_total",
		} {
			if !strings.Contains(text, line) {
				return false
			}
		}
		return true
	})
	lease := &coordinationv1.Lease{}
	w.Must(w.Get(t.Context(), client.ObjectKey{Namespace: operation.Namespace, Name: "rankwright-operator"}, lease))

	w.awaitEvents("Placed")
	w.Must(cmd.Process.Signal(os.Interrupt))
	if err := cmd.Wait(); err != nil {
		t.Errorf("the operator did not end cleanly: %v\n%s", err, log.String())
	}
	if strings.Contains(log.String(), "forbidden") {
		t.Errorf("the operator may not do what it does:\n%s", log.String())
	}
	traces.expect(t, "llm", "wait", "plan", "commit", "settle", "mesh", "place")
	w.Must(w.Get(t.Context(), client.ObjectKeyFromObject(lease), lease))
	if holder := lease.Spec.HolderIdentity; holder != nil && *holder != "" {
		t.Errorf("%s still holds the Lease after it ended", *holder)
	}
}

// TestOperatorServesMetricsToEverybody runs the binary as an administrator does who leaves access to the network.
func TestOperatorServesMetricsToEverybody(t *testing.T) {
	w := newWorld(t, wholeCluster)
	metrics := freeAddress(w)
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), buildOperator(w), "--kubeconfig", w.operatorKubeconfig(),
		"--namespace", operation.Namespace, "--health-address=0", "--metrics-address", metrics, "--metrics-authentication=false")
	w.Must(cmd.Start())
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	w.Eventually("metrics are served to who has no token, by HTTP", func(context.Context) bool {
		status, text := get(w, "http://"+metrics+"/metrics")
		return status == http.StatusOK && strings.Contains(text, "rankwright_ledger_conflicts_total")
	})
}

func freeAddress(w world) string {
	w.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	w.Must(err)
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}

func get(w world, url string) (status int, body string) {
	w.Helper()
	request, err := http.NewRequestWithContext(w.Context(), http.MethodGet, url, http.NoBody)
	w.Must(err)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	w.Must(err)
	return response.StatusCode, string(text)
}

func TestOperatorRefusesWrongFlags(t *testing.T) {
	w := newWorld(t, justLedger)
	binary := buildOperator(w)
	for _, c := range []struct{ flag, says string }{
		{"--log-level=loud", "debug, info, warn or error"},
		{"--kubeconfig=/does/not/exist", "/does/not/exist"},
		{"--colour", "unknown flag"},
		{"--traces=collector:4317", "http://collector.monitoring:4317"},
	} {
		output, err := exec.CommandContext(t.Context(), binary, "--kubeconfig", w.operatorKubeconfig(), c.flag).CombinedOutput()
		if err == nil || !strings.Contains(string(output), c.says) {
			t.Errorf("%s: %v, %s; want a message with %q", c.flag, err, output, c.says)
		}
	}
}
