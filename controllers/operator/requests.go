package operator

import (
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"

	"github.com/rankwright/rankwright/internal/apicall"
)

// countRequests returns a configuration whose requests to the API server are counted by verb and resource.
func countRequests(registry prometheus.Registerer, cfg *rest.Config) (*rest.Config, error) {
	requests := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rankwright_api_requests_total", Help: "Requests to the API server by verb and resource.",
	}, []string{"verb", "resource"})
	if err := registry.Register(requests); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	counted := rest.CopyConfig(cfg)
	counted.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			requests.WithLabelValues(apicall.Of(request)).Inc()
			return next.RoundTrip(request)
		})
	})
	return counted, nil
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return f(request) }
