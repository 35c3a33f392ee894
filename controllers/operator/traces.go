package operator

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/rankwright/rankwright/controllers/course"
	"github.com/rankwright/rankwright/controllers/placement"
)

// newRecorder returns what takes the steps of placements: metrics, and spans where there is a collector.
func newRecorder(ctx context.Context, mgr manager.Manager, options Options) (*course.Recorder, error) {
	if options.Traces == "" {
		return course.New(options.Registry, nil, placement.Refusals()...), nil
	}
	// The exporter would take what is no URL for the address that it has by default.
	if at, err := url.Parse(options.Traces); err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return nil, fmt.Errorf("--traces %q: use the URL of a collector, such as http://collector.monitoring:4317", options.Traces)
	}
	exporter, err := otlptracegrpc.New(ctx, otlptracegrpc.WithEndpointURL(options.Traces))
	if err != nil {
		return nil, fmt.Errorf("collector of traces %s: %w", options.Traces, err)
	}
	provider := sdk.NewTracerProvider(sdk.WithBatcher(exporter), sdk.WithIDGenerator(course.Identifiers{}),
		sdk.WithResource(resource.NewSchemaless(attribute.String("service.name", name))))
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		options.Log.Error(err, "spans could not be sent", "collector", options.Traces)
	}))
	return course.New(options.Registry, provider, placement.Refusals()...), mgr.Add(flusher{provider, options.Log})
}

// flusher sends the last spans when the operator ends.
type flusher struct {
	provider *sdk.TracerProvider
	log      logr.Logger
}

// Start implements manager.Runnable.
func (f flusher) Start(ctx context.Context) error {
	<-ctx.Done()
	const patience = 2 * time.Second
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	if err := f.provider.Shutdown(last); err != nil {
		f.log.Error(err, "the last spans could not be sent")
	}
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: an operator that stands by has steps to report, too.
func (flusher) NeedLeaderElection() bool { return false }
