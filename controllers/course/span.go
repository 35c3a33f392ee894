package course

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// span makes a span of what has happened already.
func (r *Recorder) span(ctx context.Context, placement *v1alpha1.ModelPlacement, revision int64, name string, began, ended time.Time, more ...attribute.KeyValue) {
	_, span := r.tracer.Start(ctx, name, trace.WithTimestamp(began), trace.WithAttributes(append(more,
		attribute.String("k8s.namespace.name", placement.Namespace),
		attribute.String("rankwright.placement", placement.Name),
		attribute.Int64("rankwright.revision", revision))...))
	span.End(trace.WithTimestamp(ended))
}

// identityOf returns the trace of a revision of a placement's plan, and the span in it that has all steps. Both follow from placement and
// revision, so that what several controllers did, or an operator before a restart and its successor, is one trace, and nobody has to write it down.
func identityOf(placement *v1alpha1.ModelPlacement, revision int64) (id trace.SpanContextConfig) {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d", placement.UID, revision))
	copy(id.TraceID[:], sum[:])
	copy(id.SpanID[:], sum[len(id.TraceID):])
	id.TraceFlags, id.Remote = trace.FlagsSampled, true
	return id
}

// within is the context of the spans of single steps.
func within(placement *v1alpha1.ModelPlacement, revision int64) context.Context {
	return trace.ContextWithSpanContext(context.Background(), trace.NewSpanContext(identityOf(placement, revision)))
}

type wholeKey struct{}

// whole is the context of the span that the others are in.
func whole(placement *v1alpha1.ModelPlacement, revision int64) context.Context {
	return context.WithValue(context.Background(), wholeKey{}, identityOf(placement, revision))
}

// Identifiers are the identifiers of traces and spans. It is an IDGenerator of OpenTelemetry's SDK.
type Identifiers struct{}

// NewIDs returns those of a placement's trace.
func (Identifiers) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	if id, is := ctx.Value(wholeKey{}).(trace.SpanContextConfig); is {
		return id.TraceID, id.SpanID
	}
	var id trace.TraceID
	_, _ = rand.Read(id[:]) // never fails
	return id, Identifiers{}.NewSpanID(ctx, id)
}

// NewSpanID returns a random one.
func (Identifiers) NewSpanID(context.Context, trace.TraceID) (id trace.SpanID) {
	_, _ = rand.Read(id[:]) // never fails
	return id
}
