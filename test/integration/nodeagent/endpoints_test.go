package nodeagent_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/nodeagent"
	"github.com/rankwright/rankwright/test/controlplane"
)

// logBook is a log that tests read.
type logBook struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write appends to the log.
func (l *logBook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// address finds where an endpoint listens.
func (l *logBook) address(endpoint string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range strings.Lines(l.text.String()) {
		var entry struct{ Msg, Endpoint, Address string }
		if json.Unmarshal([]byte(line), &entry) == nil && entry.Msg == "listening" && entry.Endpoint == endpoint {
			return entry.Address
		}
	}
	return ""
}

func fetch(t *testing.T, address, path string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

func TestProbesAndMetrics(t *testing.T) {
	s := newSiteFor(t, "endpoints")
	var out outage
	out.on.Store(true)
	config := agentConfig(t, s.node)
	config.Wrap(out.wrap)
	var log logBook
	s.nvidia.set(gpu(0))
	s.amd.breakDown()
	agent, err := nodeagent.New(config, nodeagent.Options{
		NodeName: s.name, Host: emptyHost, Backends: []backend.Backend{s.nvidia, s.amd},
		HealthAddress: "127.0.0.1:0", MetricsAddress: "127.0.0.1:0", Version: "v1.2.3",
		Log: slog.New(slog.NewJSONHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	s.agent = agent
	s.run()
	s.await("the endpoints", func() bool { return log.address("health") != "" && log.address("metrics") != "" })
	if code, body := fetch(t, log.address("health"), "/healthz"); code != http.StatusOK {
		t.Errorf("/healthz during an outage: %d %s, want 200", code, body)
	}
	if code, body := fetch(t, log.address("health"), "/readyz"); code != http.StatusServiceUnavailable {
		t.Errorf("/readyz before the first publication: %d %s, want 503", code, body)
	}
	out.on.Store(false)
	s.await("readiness", func() bool {
		code, _ := fetch(t, log.address("health"), "/readyz")
		return code == http.StatusOK
	})
	if status, _, err := controlplane.Scrape(t.Context(), log.address("metrics"), ""); status != http.StatusUnauthorized {
		t.Errorf("metrics for who has no token: status %d, %v", status, err)
	}
	reader, err := cluster.MetricsReader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	status, metrics, err := controlplane.Scrape(t.Context(), log.address("metrics"), reader)
	if status != http.StatusOK {
		t.Errorf("metrics for a reader: status %d, %v, %s", status, err, metrics)
	}
	for _, want := range []string{
		`rankwright_node_agent_devices{health="Healthy",node="endpoints",vendor="nvidia"} 1`,
		`rankwright_node_agent_backend_state{backend="amd",node="endpoints",state="Failed"} 1`,
		`rankwright_node_agent_backend_state{backend="nvidia",node="endpoints",state="Failed"} 0`,
		`rankwright_node_agent_detect_duration_seconds_count{backend="all",node="endpoints"} 1`,
		`rankwright_node_agent_detect_duration_seconds_count{backend="nvidia",node="endpoints"} 1`,
		`rankwright_node_agent_publish_total{node="endpoints",result="written"} 1`,
		`rankwright_node_agent_scans_total{node="endpoints",trigger="start"} 1`,
		`version="v1.2.3"} 1`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics lack %s", want)
		}
	}
	if t.Failed() {
		t.Logf("metrics:\n%s", metrics)
	}
}
