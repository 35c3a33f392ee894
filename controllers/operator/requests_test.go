package operator

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/rankwright/rankwright/internal/measure/measuretest"
)

// asked is a client whose requests are counted, and that reaches nobody.
func asked(t *testing.T) (*prometheus.Registry, http.RoundTripper) {
	t.Helper()
	registry := prometheus.NewRegistry()
	answers := roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(""))}, nil
	})
	counted, err := countRequests(registry, &rest.Config{Host: "http://nowhere", Transport: answers})
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.TransportFor(counted)
	if err != nil {
		t.Fatal(err)
	}
	return registry, client
}

func ask(t *testing.T, client http.RoundTripper, method, path string) {
	t.Helper()
	answer, err := client.RoundTrip(httptest.NewRequest(method, "http://nowhere"+path, http.NoBody))
	if err != nil {
		t.Fatal(err)
	}
	if err := answer.Body.Close(); err != nil {
		t.Fatal(err)
	}
}

// Whatever the operator asks for, its requests have a series for each verb and resource that are listed at most.
func TestSeriesDoNotGrowWithRequests(t *testing.T) {
	registry, client := asked(t)
	methods := []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions, "BREW"}
	sent := 0
	for i := range 100 {
		for _, path := range []string{
			"/api/v1/namespaces/team-%d/pods/llm-%[1]d", "/api/v1/namespaces/team-%d/pods/llm-%[1]d/part%[1]d", "/api/v1/kind%ds", "/api/v1/kind%ds/name?watch=true",
			"/apis/group%d.example.com/v1/kinds/name", "/apis/group.example.com/v1/namespaces/a/kinds/name%d/status", "/version%d", "/%d/%[1]d/%[1]d",
		} {
			for _, method := range methods {
				ask(t, client, method, fmt.Sprintf(path, i))
				sent++
			}
		}
	}
	var counted float64
	seen := measuretest.Series(t, registry, "rankwright_api_requests_total")
	for _, line := range seen {
		var n float64
		if _, err := fmt.Sscan(line[strings.LastIndex(line, " "):], &n); err != nil {
			t.Fatal(err)
		}
		counted += n
	}
	if most := (len(verbs) + 1) * 3; len(seen) > most || int(counted) != sent { // pods, discovery, other
		t.Errorf("%d requests are counted as %g in %d series, want at most %d:\n%s", sent, counted, len(seen), most, strings.Join(seen, "\n"))
	}
}

func TestRequestsAreCountedByVerbAndResource(t *testing.T) {
	registry, client := asked(t)
	ask(t, client, http.MethodGet, "/api/v1/pods?watch=true")
	ask(t, client, http.MethodPost, "/api/v1/namespaces/a/pods/p/eviction")
	ask(t, client, http.MethodPost, "/apis/batch/v1/namespaces/rankwright-repair/jobs")
	ask(t, client, http.MethodOptions, "/api/v1/pods")
	want := []string{
		"rankwright_api_requests_total{resource=other,verb=create} 1", "rankwright_api_requests_total{resource=pods,verb=other} 1",
		"rankwright_api_requests_total{resource=pods,verb=watch} 1", "rankwright_api_requests_total{resource=pods/eviction,verb=create} 1",
	}
	if diff := cmp.Diff(want, measuretest.Series(t, registry, "rankwright_api_requests_total")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The resources that are counted are those that the operator has rights to, and discovery.
func TestResourcesAreThoseOfTheRights(t *testing.T) {
	may := map[string]bool{"discovery": true}
	for _, file := range []string{"rbac/operator.yaml", "repair/taints.yaml"} {
		text, err := os.ReadFile(filepath.Join("..", "..", "config", filepath.FromSlash(file)))
		if err != nil {
			t.Fatal(err)
		}
		for document := range strings.SplitSeq(string(text), "\n---\n") {
			var role rbacv1.Role // a ClusterRole has its rules at the same place
			if err := yaml.Unmarshal([]byte(document), &role); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			for i := range role.Rules {
				for _, resource := range role.Rules[i].Resources {
					if !strings.HasSuffix(resource, "/finalizers") { // the API server looks at this right, and nobody asks for it
						may[resource] = true
					}
				}
			}
		}
	}
	if diff := cmp.Diff(slices.Sorted(maps.Keys(may)), slices.Sorted(maps.Keys(resources))); diff != "" {
		t.Errorf("what the operator has rights to, and what its requests are counted by (-rights +counted):\n%s", diff)
	}
}
