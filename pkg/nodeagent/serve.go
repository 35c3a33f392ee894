package nodeagent

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"

	"github.com/rankwright/rankwright/internal/access"
)

// Disabled is the address of an endpoint that is not served.
const Disabled = "0"

// serve listens at host:port and has the group answer there until the context ends. It logs the address, which tells the port
// where port 0 let the kernel choose. Without a configuration of TLS it is HTTP.
func serve(ctx context.Context, group *errgroup.Group, log *slog.Logger, name, address string, handler http.Handler, secure *tls.Config) error {
	if address == Disabled {
		return nil
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return fmt.Errorf("listen for %s at %q: %w; choose another address or %q to disable it", name, address, err, Disabled)
	}
	log.Info("listening", "endpoint", name, "address", listener.Addr().String())
	if secure != nil {
		listener = tls.NewListener(listener, secure)
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	group.Go(func() error {
		defer context.AfterFunc(ctx, func() { _ = server.Close() })()
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			return fmt.Errorf("serve at %s: %w", listener.Addr(), err)
		}
		return nil
	})
	return nil
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

// serveMetrics serves the agent's metrics, and unless they are open by HTTPS to those whom RBAC lets get them.
func (a *Agent) serveMetrics(ctx context.Context, group *errgroup.Group) error {
	if a.options.MetricsAddress == Disabled {
		return nil
	}
	handler := promhttp.HandlerFor(a.metrics.registry, promhttp.HandlerOpts{Registry: a.metrics.registry})
	var secure *tls.Config
	if !a.options.MetricsOpen {
		var err error
		if secure, err = access.TLS(); err != nil {
			return fmt.Errorf("metrics: %w", err)
		}
		handler = access.NewGuard(a.client, a.clock).Handler(handler, func(err error) {
			a.log.Warn("a request for metrics could not be judged", "error", err)
		})
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", handler)
	return serve(ctx, group, a.log, "metrics", a.options.MetricsAddress, mux, secure)
}
