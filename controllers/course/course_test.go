package course

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// series are the values of a metric by the value of its label: how many observations, or the count.
func series(t *testing.T, registry prometheus.Gatherer, name string) map[string]uint64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]uint64{}
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, m := range family.GetMetric() {
			n := m.GetHistogram().GetSampleCount()
			if family.GetType() == dto.MetricType_COUNTER {
				n = uint64(m.GetCounter().GetValue())
			}
			found[m.GetLabel()[0].GetValue()] = n
		}
	}
	return found
}

func TestWaitsAreCountedByPosition(t *testing.T) {
	registry := prometheus.NewRegistry()
	recorder, now := New(registry, nil), time.Now()
	for position := 1; position <= 250; position++ {
		recorder.Waited(&v1alpha1.ModelPlacement{}, 1, now, now, position)
	}
	recorder.Waited(&v1alpha1.ModelPlacement{}, 1, time.Time{}, now, 1) // nobody knows since when
	want := map[string]uint64{"1": 1, "2-10": 9, "11-100": 90, "101-": 150}
	if diff := cmp.Diff(want, series(t, registry, "rankwright_placement_wait_seconds")); diff != "" {
		t.Errorf("waits by position (-want +got):\n%s", diff)
	}
}

func TestSeriesDoNotGrowWithPlacements(t *testing.T) {
	registry := prometheus.NewRegistry()
	recorder, now := New(registry, nil), time.Now()
	for i := range 100 {
		placement := &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("llm-", i), UID: types.UID(fmt.Sprint(i))}}
		for _, step := range steps {
			recorder.Took(placement, int64(i), step, now, now)
		}
		recorder.Unplanned(time.Second)
		recorder.Evicted(i%2 == 0)
	}
	want := map[string]uint64{"plan": 200, "commit": 100, "settle": 100, "mesh": 100, "bind": 100, "verify": 100}
	if diff := cmp.Diff(want, series(t, registry, "rankwright_placement_step_duration_seconds")); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]uint64{evicted: 50, blocked: 50}, series(t, registry, "rankwright_evictions_total")); diff != "" {
		t.Errorf("evictions (-want +got):\n%s", diff)
	}
}

// Refusals are counted by the reasons that were listed, whatever a planner answers.
func TestSeriesDoNotGrowWithRefusals(t *testing.T) {
	registry := prometheus.NewRegistry()
	recorder := New(registry, nil, "NoneFree", "TooLarge")
	for i := range 1000 {
		for _, reason := range []string{"NoneFree", "TooLarge", "", fmt.Sprint("Reason", i)} {
			recorder.Refused(reason)
		}
	}
	want := map[string]uint64{"NoneFree": 1000, "TooLarge": 1000, "other": 2000}
	if diff := cmp.Diff(want, series(t, registry, "rankwright_refusals_total")); diff != "" {
		t.Errorf("refusals by reason (-want +got):\n%s", diff)
	}
}

func TestTracesFollowFromPlacementAndRevision(t *testing.T) {
	placement := &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{UID: "a"}}
	other := &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{UID: "b"}}
	if a, b := identityOf(placement, 1), identityOf(placement.DeepCopy(), 1); a.TraceID != b.TraceID || a.SpanID != b.SpanID {
		t.Error("two steps of one plan are in different traces")
	}
	for _, different := range []bool{identityOf(placement, 2).TraceID != identityOf(placement, 1).TraceID, identityOf(other, 1).TraceID != identityOf(placement, 1).TraceID} {
		if !different {
			t.Error("two plans are in one trace")
		}
	}
}

// TestEveryStepIsASpan: all steps of a plan, from its decision to pods that are bound and verified, are spans in that of the whole.
func TestEveryStepIsASpan(t *testing.T) {
	spans := tracetest.NewSpanRecorder()
	r := New(prometheus.NewRegistry(), sdk.NewTracerProvider(sdk.WithSpanProcessor(spans), sdk.WithIDGenerator(Identifiers{})))
	placement := &v1alpha1.ModelPlacement{ObjectMeta: metav1.ObjectMeta{UID: "a", Name: "llm"}}
	began := time.Unix(1, 0)
	r.Placed(placement, 1, began, began.Add(time.Minute))
	r.Waited(placement, 1, began, began.Add(time.Second), 1)
	want := []string{"place", "wait"}
	for _, step := range steps {
		r.Took(placement, 1, step, began, began.Add(time.Second))
		want = append(want, string(step))
	}
	var got []string
	whole := spans.Ended()[0].SpanContext()
	for i, span := range spans.Ended() {
		got = append(got, span.Name())
		if span.SpanContext().TraceID() != whole.TraceID() || i > 0 && span.Parent().SpanID() != whole.SpanID() {
			t.Errorf("%s is not in the span of the whole", span.Name())
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
