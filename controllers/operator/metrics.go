package operator

import (
	"fmt"
	"net/http"

	"github.com/go-logr/logr"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/rankwright/rankwright/internal/access"
)

// metricsOptions returns how /metrics is served. controller-runtime's own filter, of package metrics/filters, brings a dozen modules for what
// the node agents do in one file.
func metricsOptions(options Options) metricsserver.Options {
	served := metricsserver.Options{BindAddress: options.MetricsAddress}
	if !options.MetricsOpen {
		served.SecureServing, served.FilterProvider = true, guarded
	}
	return served
}

func guarded(config *rest.Config, c *http.Client) (metricsserver.Filter, error) {
	reviews, err := dynamic.NewForConfigAndClient(config, c)
	if err != nil {
		return nil, fmt.Errorf("client for reviews: %w", err)
	}
	guard := access.NewGuard(reviews, clock.RealClock{})
	return func(log logr.Logger, next http.Handler) (http.Handler, error) {
		return guard.Handler(next, func(err error) { log.Error(err, "a request for metrics could not be judged") }), nil
	}, nil
}
