package operator

import (
	"context"
	"net"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"
)

// traceCollector takes spans as an OpenTelemetry collector does.
type traceCollector struct {
	collector.UnimplementedTraceServiceServer
	address string

	mu    sync.Mutex
	spans []*tracev1.Span
}

func startCollector(w world) *traceCollector {
	w.Helper()
	listener, err := (&net.ListenConfig{}).Listen(w.Context(), "tcp", "127.0.0.1:0")
	w.Must(err)
	c := &traceCollector{address: listener.Addr().String()}
	server := grpc.NewServer()
	collector.RegisterTraceServiceServer(server, c)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	w.Cleanup(func() {
		server.Stop()
		if err := <-served; err != nil {
			w.Error(err)
		}
	})
	return c
}

// Export implements the service.
func (c *traceCollector) Export(_ context.Context, request *collector.ExportTraceServiceRequest) (*collector.ExportTraceServiceResponse, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, of := range request.GetResourceSpans() {
		for _, scope := range of.GetScopeSpans() {
			c.spans = append(c.spans, scope.GetSpans()...)
		}
	}
	return &collector.ExportTraceServiceResponse{}, nil
}

// expect holds the spans of a placement to names, of which the last has all the others in it.
func (c *traceCollector) expect(t *testing.T, placement string, names ...string) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	var got []string
	var traces, parents []string
	var root string
	for _, span := range c.spans {
		for _, a := range span.GetAttributes() {
			if a.GetKey() != "rankwright.placement" || a.GetValue().GetStringValue() != placement {
				continue
			}
			got, traces = append(got, span.GetName()), append(traces, string(span.GetTraceId()))
			if parent := string(span.GetParentSpanId()); parent == "" {
				root = string(span.GetSpanId())
			} else {
				parents = append(parents, parent)
			}
			if span.GetEndTimeUnixNano() < span.GetStartTimeUnixNano() {
				t.Errorf("span %s ends before it begins", span.GetName())
			}
		}
	}
	slices.Sort(got)
	slices.Sort(traces)
	slices.Sort(parents)
	if diff := cmp.Diff(slices.Sorted(slices.Values(names)), got); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	if n := len(slices.Compact(traces)); n != 1 {
		t.Errorf("the spans are in %d traces, want 1", n)
	}
	if within := slices.Compact(parents); len(within) != 1 || within[0] != root {
		t.Errorf("the steps are in spans %x, want the one of the placement, %x", within, root)
	}
}
