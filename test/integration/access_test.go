package integration

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/rankwright/rankwright/internal/access"
	"github.com/rankwright/rankwright/test/controlplane"
)

// line counts what goes to the API server, or is cut.
type line struct {
	next  http.RoundTripper
	asked atomic.Int32
	cut   atomic.Bool
}

func (l *line) RoundTrip(request *http.Request) (*http.Response, error) {
	l.asked.Add(1)
	if l.cut.Load() {
		return nil, errors.New("the line is cut")
	}
	return l.next.RoundTrip(request)
}

// asAgent returns a configuration of the node agents' service account, which has the rights that are installed for it.
func asAgent(t *testing.T) *rest.Config {
	t.Helper()
	objects, err := controlplane.ReadConfig("namespace", "rbac")
	if err == nil {
		err = controlplane.Apply(t.Context(), cluster.Config(), "", objects...)
	}
	if err != nil {
		t.Fatal(err)
	}
	config, err := cluster.ConfigForAccount(t.Context(), "rankwright-node-agent", "rankwright-node-agent", nil)
	if err != nil {
		t.Fatal(err)
	}
	return config
}

// TestOnlyReadersGetMetrics asks a real API server, with no rights but those that are installed.
func TestOnlyReadersGetMetrics(t *testing.T) {
	config, to, now := asAgent(t), &line{}, clocktesting.NewFakePassiveClock(time.Now())
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { to.next = next; return to })
	reviews, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	reader, err := cluster.MetricsReader(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	stranger := config.BearerToken
	var failures []error
	served := access.NewGuard(reviews, now).Handler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("metrics")) }),
		func(err error) { failures = append(failures, err) })
	ask := func(method, path, authorization string) (status int, body string) {
		request, answer := httptest.NewRequestWithContext(t.Context(), method, path, http.NoBody), httptest.NewRecorder()
		if authorization != "" {
			request.Header.Set("Authorization", authorization)
		}
		served.ServeHTTP(answer, request)
		return answer.Code, answer.Body.String()
	}
	for _, c := range []struct {
		name, method, path, authorization string
		status, asked                     int
	}{
		{"no token", http.MethodGet, "/metrics", "", http.StatusUnauthorized, 0},
		{"an empty token", http.MethodGet, "/metrics", "Bearer ", http.StatusUnauthorized, 0},
		{"a password", http.MethodGet, "/metrics", "Basic YTpi", http.StatusUnauthorized, 0},
		{"nobody's token", http.MethodGet, "/metrics", "Bearer nobody", http.StatusUnauthorized, 1},
		{"a stranger", http.MethodGet, "/metrics", "Bearer " + stranger, http.StatusForbidden, 2},
		{"a reader", http.MethodGet, "/metrics", "Bearer " + reader, http.StatusOK, 2},
		{"the reader again", http.MethodGet, "/metrics", "Bearer " + reader, http.StatusOK, 0},
		{"the stranger again", http.MethodGet, "/metrics", "Bearer " + stranger, http.StatusForbidden, 0},
		{"a reader who writes", http.MethodPost, "/metrics", "Bearer " + reader, http.StatusForbidden, 2},
		{"a reader of something else", http.MethodGet, "/debug", "Bearer " + reader, http.StatusForbidden, 2},
	} {
		before := to.asked.Load()
		status, body := ask(c.method, c.path, c.authorization)
		if asked := int(to.asked.Load() - before); status != c.status || asked != c.asked || (body == "metrics") != (c.status == http.StatusOK) {
			t.Errorf("%s: status %d and %q after %d questions, want %d after %d", c.name, status, body, asked, c.status, c.asked)
		}
	}
	if len(failures) > 0 {
		t.Errorf("failures: %v", failures)
	}

	to.cut.Store(true)
	if status, _ := ask(http.MethodGet, "/metrics", "Bearer "+reader); status != http.StatusOK {
		t.Errorf("a reader who is known, without the API server: status %d", status)
	}
	now.SetTime(now.Now().Add(3 * time.Minute))
	status, body := ask(http.MethodGet, "/metrics", "Bearer "+reader)
	if status != http.StatusInternalServerError || body == "metrics" || len(failures) != 1 || !strings.Contains(failures[0].Error(), "the line is cut") {
		t.Errorf("without the API server: status %d, %q, failures %v", status, body, failures)
	}
	to.cut.Store(false)
	if status, _ := ask(http.MethodGet, "/metrics", "Bearer "+reader); status != http.StatusOK {
		t.Errorf("with the API server again: status %d", status)
	}
}
