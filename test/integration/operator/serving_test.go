package operator

import (
	"context"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/controllers/operator"
	"github.com/rankwright/rankwright/pkg/launch"
	"github.com/rankwright/rankwright/pkg/plan"
)

// TestServersAreStartedAsAsked: what a placement asks of its server is in its plan and in the files of its pods, and another wish has
// another plan.
func TestServersAreStartedAsAsked(t *testing.T) {
	w := newWorld(t, wholeCluster)
	w.addNode("n1", 2)
	w.operate(operator.Options{Planner: plan.Within})
	p := w.PlacementOf("llm", 2, 1)
	p.Spec.Workload.Inference.Serving = &v1alpha1.ServingOptions{
		MemoryUtilizationPercent: 80, Speculation: &v1alpha1.Speculation{Method: v1alpha1.SpeculationNGram, Tokens: 3, AcceptancePercent: 40},
	}
	w.place(p)
	w.read("llm")
	made := w.awaitPlan("llm", "llm-1")
	if s := made.Spec.Serving; s == nil || s.MemoryUtilizationPercent != 80 || s.Speculation == nil || s.Speculation.Tokens != 3 {
		t.Fatalf("the plan has %+v", s)
	}
	told := func(want string) {
		t.Helper()
		w.Eventually("the pods start with "+want, func(ctx context.Context) bool { return strings.Contains(w.files(ctx).Data[launch.CopyFile(0)], want) })
	}
	told("--gpu-memory-utilization 0.8 ")
	told("--speculative-config.method ngram --speculative-config.num_speculative_tokens 3")

	w.change(func(s *v1alpha1.ModelPlacementSpec) { s.Workload.Inference.Serving.Speculation.Tokens = 5 })
	w.awaitPlan("llm", "llm-2")
	told("--speculative-config.num_speculative_tokens 5")
}
