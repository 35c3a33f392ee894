package operator

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/internal/cli"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/test/plantest"
)

// measuredHere is a calibration with a benchmark of Llama-3.1-8B on an L40S.
func measuredHere(name string, milliTokensPerSecond int64) *v1alpha1.SiteCalibration {
	one := int32(1)
	return &v1alpha1.SiteCalibration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: v1alpha1.SiteCalibrationSpec{Measurements: []v1alpha1.Measurement{{
			Model: "Llama-3.1-8B", Device: plantest.L40s.Name, Engine: "vLLM", Parallelism: &v1alpha1.Parallelism{Tensor: &one},
			InputTokens: 2048, OutputTokens: 2048, Concurrency: 1, Requests: 20, MilliTokensPerSecond: milliTokensPerSecond,
			Source: v1alpha1.MeasurementSource{Tool: "vllm bench serve", Time: metav1.NewTime(time.Now().Add(-time.Hour))},
		}}},
	}
}

// TestMeasurementsOfTheSiteMoveNewPlans measures that a device is slower than is estimated: plans that are made then say so and what was estimated without it,
// and the plan that is in force stays.
func TestMeasurementsOfTheSiteMoveNewPlans(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.RunOperator(operator.Options{Comparing: 50 * time.Millisecond})
	w.addProduct("here", plantest.L40s)
	w.placeForLatency()
	before := w.awaitPlan("llm", "llm-1").Spec.Estimate
	if before == nil || before.Uncalibrated != nil {
		t.Fatalf("nothing was measured, and the estimate is %+v", before)
	}

	slow := measuredHere("lab", before.TokensPerSecond.Value*1000*7/10)
	w.Must(w.Create(w.Context(), slow))
	t.Cleanup(func() { _ = w.Delete(t.Context(), slow) })
	w.awaitImprovable("llm", metav1.ConditionFalse)
	w.settle()
	w.awaitPlan("llm", "llm-1")

	w.Must(w.Delete(w.Context(), w.placement("llm")))
	w.Eventually("the placement is gone", func(ctx context.Context) bool {
		return w.Get(ctx, client.ObjectKey{Namespace: testNamespace, Name: "llm"}, &v1alpha1.ModelPlacement{}) != nil
	})
	w.placeForLatency()
	after := w.awaitPlan("llm", "llm-1").Spec.Estimate
	if after == nil || after.Uncalibrated == nil {
		t.Fatalf("the site was measured, and the estimate is %+v", after)
	}
	if got := float64(after.TokensPerSecond.Value) / float64(before.TokensPerSecond.Value); got < 0.65 || got > 0.8 {
		t.Errorf("%.2f of what was estimated, and 0.7 of it was measured", got)
	}
	if u := after.Uncalibrated; u.TokensPerSecond != before.TokensPerSecond || !strings.HasPrefix(u.Source, "lab: 1 measurement of ") {
		t.Errorf("without the site %+v, want %+v", u, before.TokensPerSecond)
	}
}

// TestWhatCalibratePrintsIsTaken gives the API server what the command line makes of a benchmark.
func TestWhatCalibratePrintsIsTaken(t *testing.T) {
	w := newWorld(t, justLedger)
	var out, errs strings.Builder
	args := []string{"calibrate", "../../../pkg/site/testdata/vllm.json", "../../../pkg/site/testdata/vllm-startup.log", "--device", "NVIDIA A100-SXM4-80GB", "--name", "made", "-o", "json"}
	if code := cli.Run(w.Context(), args, term.Streams{In: strings.NewReader(""), Out: &out, Err: &errs}); code != term.ExitOK {
		t.Fatal(errs.String())
	}
	made := &unstructured.Unstructured{}
	w.Must(json.Unmarshal([]byte(out.String()), made))
	w.Must(w.Create(w.Context(), made))
	kept := &v1alpha1.SiteCalibration{}
	w.Must(w.Get(w.Context(), client.ObjectKey{Name: "made"}, kept))
	w.Must(w.Delete(w.Context(), kept))
	if len(kept.Spec.Measurements) != 2 || kept.Spec.FreshDays != 90 || kept.Spec.Measurements[0].MilliTokensPerSecond != 1410250 {
		t.Errorf("%+v", kept.Spec)
	}
}

// TestCalibrationsMeasureSomething holds that the API server refuses a measurement of nothing.
func TestCalibrationsMeasureSomething(t *testing.T) {
	w := newWorld(t, justLedger)
	nothing := measuredHere("nothing", 0)
	if err := w.Create(w.Context(), nothing); err == nil || !strings.Contains(err.Error(), "measures nothing") {
		t.Errorf("the answer is %v", err)
	}
}
