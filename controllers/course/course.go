// Package course records the way of placements from the news of them to bound pods, as metrics and, where a provider of traces is given,
// as spans of OpenTelemetry.
package course

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/measure"
)

// Step is one part of the way.
type Step string

// The steps in their order.
const (
	// Plan is one answer of the planner, a refusal too.
	Plan Step = "plan"
	// Commit is from a decision to the write of the ledger that commits its plan.
	Commit Step = "commit"
	// Settle is from there until the plan is active.
	Settle Step = "settle"
	// Mesh is the write of the mesh with its status.
	Mesh Step = "mesh"
	// Bind is from the creation of a pod, or of its plan where that is later, until the pod has its place.
	Bind Step = "bind"
	// Verify is from the start of the first pod until the mesh is verified, or known to be wrong.
	Verify Step = "verify"
)

var steps = []Step{Plan, Commit, Settle, Mesh, Bind, Verify}

// Recorder takes what was measured. One that is nil takes nothing.
type Recorder struct {
	steps     *prometheus.HistogramVec
	waits     *prometheus.HistogramVec
	refusals  *prometheus.CounterVec
	reasons   measure.Known
	evictions *prometheus.CounterVec
	tracer    trace.Tracer
}

// New returns a recorder whose metrics are in a registry and whose spans go to a provider; nil makes none. A provider must take its
// identifiers from Identifiers. Refusals are counted by the reasons that are given here.
func New(registry prometheus.Registerer, provider trace.TracerProvider, reasons ...string) *Recorder {
	if provider == nil {
		provider = noop.NewTracerProvider()
	}
	maker := measure.For(registry)
	r := &Recorder{
		steps: maker.Histograms("placement_step_duration_seconds",
			"Time of the steps of placements: plan (an answer of the planner), commit, settle, mesh, bind (a pod), verify.",
			prometheus.ExponentialBuckets(0.0005, 2, 20), "step"),
		waits: maker.Histograms("placement_wait_seconds",
			"Time from when this operator saw that a placement needs a plan until one was decided, by its position in that round.",
			[]float64{0.005, 0.02, 0.08, 0.3, 1.2, 5, 20, 60, 300, 1200}, "position"),
		refusals:  maker.Counters("refusals_total", "Answers of the planner that there is no plan, by reason; those that are not listed are other.", "reason"),
		reasons:   measure.KnownOf(reasons...),
		evictions: maker.Counters("evictions_total", "Evictions of pods whose plan was replaced, by result: evicted, blocked (by a disruption budget).", "result"),
		tracer:    provider.Tracer("github.com/rankwright/rankwright/controllers/course"),
	}
	for _, step := range steps {
		r.steps.WithLabelValues(string(step))
	}
	for _, p := range positions {
		r.waits.WithLabelValues(p.label)
	}
	for _, result := range []string{evicted, blocked} {
		r.evictions.WithLabelValues(result)
	}
	return r
}

// Took records one step of a plan of a placement.
func (r *Recorder) Took(placement *v1alpha1.ModelPlacement, revision int64, step Step, began, ended time.Time) {
	if r == nil {
		return
	}
	r.steps.WithLabelValues(string(step)).Observe(ended.Sub(began).Seconds())
	r.span(within(placement, revision), placement, revision, string(step), began, ended)
}

// Waited records how long a placement waited until a plan was decided for it, as the first of its round where its position is 1.
func (r *Recorder) Waited(placement *v1alpha1.ModelPlacement, revision int64, seen, decided time.Time, position int) {
	if r == nil || seen.IsZero() {
		return
	}
	r.waits.WithLabelValues(labelOf(position)).Observe(decided.Sub(seen).Seconds())
	r.span(within(placement, revision), placement, revision, "wait", seen, decided, attribute.Int("rankwright.position", position))
}

// Placed records the span that all steps of a plan are in: from when its placement was seen to need one until it had a mesh.
func (r *Recorder) Placed(placement *v1alpha1.ModelPlacement, revision int64, seen, meshed time.Time) {
	if r != nil && !seen.IsZero() {
		r.span(whole(placement, revision), placement, revision, "place", seen, meshed)
	}
}

// Unplanned records the time of an answer of the planner from which no plan came.
func (r *Recorder) Unplanned(took time.Duration) {
	if r != nil {
		r.steps.WithLabelValues(string(Plan)).Observe(took.Seconds())
	}
}

// Refused counts a refusal of the planner.
func (r *Recorder) Refused(reason string) {
	if r != nil {
		r.refusals.WithLabelValues(r.reasons.Bound(reason)).Inc()
	}
}

const evicted, blocked = "evicted", "blocked"

// Evicted counts a try to evict a pod, and whether a disruption budget was in its way.
func (r *Recorder) Evicted(wasBlocked bool) {
	if r == nil {
		return
	}
	result := evicted
	if wasBlocked {
		result = blocked
	}
	r.evictions.WithLabelValues(result).Inc()
}

// positions are the values of the label of waits, each up to a position.
var positions = []struct {
	upTo  int
	label string
}{{1, "1"}, {10, "2-10"}, {100, "11-100"}, {1 << 30, "101-"}}

func labelOf(position int) string {
	for _, p := range positions {
		if position <= p.upTo {
			return p.label
		}
	}
	return positions[len(positions)-1].label
}
