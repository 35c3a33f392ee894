package agreement

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/facts"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/model"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/figure"
	"github.com/rankwright/rankwright/test/plantest"
)

// TestRecipesRefused holds the planner to what vLLM's recipes say that does not start: asked for, it is refused with the reason; left to the
// planner, another shape is planned, or other devices. What starts by now, and the recipe does not know, is planned where it is asked for, and
// not chosen by itself.
func TestRecipesRefused(t *testing.T) {
	table := facts.Table(t, "testdata/recipes_refused.csv")
	held := 0
	for _, r := range table {
		m, weights, err := model.Find(r.Text("model"))
		if err != nil {
			t.Fatal(err)
		}
		p := product(t, r.Text("product"))
		said := m.Name + " in " + string(weights) + " on " + p.Name + ": " + r.Text("says")
		tensor := int32(r.Whole("tensor"))
		if err := refusedAsAsked(m, weights, p, tensor); r.Text("runs") == "" && !says(err, r.Text("because")) {
			t.Errorf("%s: got %v", said, err)
			continue
		} else if r.Text("runs") != "" && err != nil {
			t.Errorf("%s: it runs since (%s): got %v", said, r.Text("runs"), err)
			continue
		}
		if got := chosenOf(t, m, weights, p, tensor, r.Text("runs") != ""); got != "" {
			t.Errorf("%s: left to the planner: %s", said, got)
			continue
		}
		held++
	}
	const least = 9
	figure.All("vLLM's recipes", "what does not start and is not planned", held, len(table), least).Hold(t)
}

// refusedAsAsked plans what a recipe says does not start: in the tensor degree with experts that are cut, where one is said, else in any shape.
func refusedAsAsked(m *model.Model, weights v1alpha1.Precision, p *accelerator.Product, tensor int32) error {
	placement := plantest.Placement(4096, 1, plantest.Format(v1alpha1.Quantization(weights)))
	if tensor > 0 {
		plantest.Parallelism(v1alpha1.Parallelism{Tensor: &tensor, Pipeline: new(int32(1)), Data: new(int32(1)), Expert: new(int32(1))})(&placement.Spec)
	}
	_, err := plan.Plan(fleet.NewCluster([]fleet.Node{node(p)}), shape.Request{Placement: placement, Model: m})
	return err
}

// says is whether a plan is refused, and one of the forms that were tried for the reason.
func says(err error, because string) bool {
	var refused *plan.Unplaceable
	return errors.As(err, &refused) && (strings.Contains(refused.Message, because) || slices.ContainsFunc(refused.Rejected, func(r v1alpha1.RejectedPlan) bool {
		return strings.Contains(r.Message, because)
	}))
}

// chosenOf leaves everything to the planner, on the devices and, beside them, on such as the recipes have: it returns what is wrong with a plan.
func chosenOf(t *testing.T, m *model.Model, weights v1alpha1.Precision, p *accelerator.Product, tensor int32, open bool) string {
	t.Helper()
	other := product(t, "NVIDIA B200")
	family := lookup(t, m.Name)
	for _, objective := range []v1alpha1.Objective{v1alpha1.ObjectiveThroughput, v1alpha1.ObjectiveLatency} {
		for _, sequences := range []int32{1, 64, 256} {
			beside := node(other)
			beside.Name = "n1"
			placement := plantest.Placement(4096, sequences, plantest.Format(v1alpha1.QuantizationAuto))
			placement.Spec.Workload.Inference.Objective = objective
			got, err := plan.Plan(fleet.NewCluster([]fleet.Node{node(p), beside}), shape.Request{Placement: placement, Model: family})
			if err != nil {
				return err.Error()
			}
			s := &got.Strategy
			there := strings.HasPrefix(string(got.Nodes[0].Node), "n0")
			switch {
			case tensor > 0 && s.Tensor == tensor && s.Expert == 1 && got.Quantization == weights,
				tensor == 0 && !open && there, open && there && got.Quantization == weights:
				return s.Summary + " in " + string(got.Quantization)
			}
		}
	}
	return ""
}
