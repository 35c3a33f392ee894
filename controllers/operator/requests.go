package operator

import (
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/rankwright/rankwright/internal/apicall"
	"github.com/rankwright/rankwright/internal/measure"
)

// verbs and resources are what requests are counted by: those that the operator has rights to. What else it asks for are the objects of a repair,
// whose kind is the administrator's, and they are other.
var (
	verbs     = measure.KnownOf("get", "list", "watch", "create", "update", "patch", "delete")
	resources = measure.KnownOf(
		"acceleratorinventories", "acceleratorinventories/status", "devicemeshes", "devicemeshes/status", "modelplacements", "modelplacements/status",
		"shardingplans", "shardingplans/status", "sitecalibrations",
		"configmaps", "controllerrevisions", "devicetaintrules", "events", "leases", "mutatingwebhookconfigurations", "namespaces", "nodes", "poddisruptionbudgets", "pods",
		"pods/eviction", "priorityclasses", "resourceclaims", "resourceslices", "secrets", "subjectaccessreviews", "tokenreviews", "discovery",
	)
)

// countRequests returns a configuration whose requests to the API server are counted by verb and resource.
func countRequests(registry prometheus.Registerer, cfg *rest.Config) (*rest.Config, error) {
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rankwright_api_requests_total", Help: "Requests to the API server by verb and resource; those that are not listed are other.",
	}, []string{"verb", "resource"})
	if err := registry.Register(requests); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	counted := rest.CopyConfig(cfg)
	counted.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			verb, resource := apicall.Of(request)
			requests.WithLabelValues(verbs.Bound(verb), resources.Bound(resource)).Inc()
			return next.RoundTrip(request)
		})
	})
	return counted, nil
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
