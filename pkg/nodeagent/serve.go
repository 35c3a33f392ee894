package nodeagent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Disabled is the address of an endpoint that is not served.
const Disabled = "0"

// endpoint is an HTTP endpoint that listens; its listener is nil where it is disabled.
type endpoint struct {
	listener net.Listener
	handler  http.Handler
}

// listen opens an endpoint at host:port and logs the address, which tells the port where port 0 let the kernel choose.
func listen(ctx context.Context, log *slog.Logger, name, address string, handler http.Handler) (endpoint, error) {
	if address == Disabled {
		return endpoint{}, nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return endpoint{}, fmt.Errorf("listen for %s at %q: %w; choose another address or %q to disable it", name, address, err, Disabled)
	}
	log.Info("listening", "endpoint", name, "address", listener.Addr().String())
	return endpoint{listener, handler}, nil
}

// serve answers until the context ends.
func (e endpoint) serve(ctx context.Context) error {
	if e.listener == nil {
		return nil
	}
	server := &http.Server{Handler: e.handler, ReadHeaderTimeout: 5 * time.Second}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	defer stop()
	if err := server.Serve(e.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve at %s: %w", e.listener.Addr(), err)
	}
	return nil
}

// close gives the port back where the endpoint was never served.
func (e endpoint) close() {
	if e.listener != nil {
		_ = e.listener.Close()
	}
}

// probes answers /healthz and /readyz by the two checks: 200, or 503 with the reason.
func probes(alive, ready func() error) http.Handler {
	mux := http.NewServeMux()
	for path, check := range map[string]func() error{"GET /healthz": alive, "GET /readyz": ready} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			if err := check(); err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
			_, _ = fmt.Fprintln(w, "ok")
		})
	}
	return mux
}

func metricsHandler(registry *prometheus.Registry) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{Registry: registry}))
	return mux
}
