package shape

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
)

// runs returns the case of a shape that the engine is asked about.
func (t *Problem) runs(s Shape) *engine.Case {
	return &engine.Case{
		Model: t.Model.Name, Architecture: &t.Model.Architecture, Training: t.Workload.Training,
		Tensor: s.Tensor, Stages: s.Stages, Data: s.Data, Context: s.Context, Expert: s.Expert,
	}
}

// MicroBatches returns the number of micro-batches of a data rank in a step of training; 0 in inference.
func (t *Problem) MicroBatches(data int) int { return t.runs(Shape{Data: data}).MicroBatches() }

// Cuts are the splits into stages that the engine can be told to make.
func (t *Problem) Cuts() engine.Cuts { return t.Engine.CutsFor(t.Workload.Training) }

// Runs says whether the engine can run the stages and the context degree of a shape.
func (t *Problem) Runs(s Shape) bool { return t.refuses(s) == nil }

func (t *Problem) refuses(s Shape) *engine.Refusal {
	c := t.runs(s)
	if r := t.Engine.RefusesContext(c); r != nil {
		return r
	}
	return t.Engine.RefusesPipeline(c)
}

// checkAsked refuses asked-for degrees that the engine cannot run whatever the other degrees are.
func (t *Problem) checkAsked() error {
	c := t.runs(Shape{Tensor: max(1, t.Asked.Tensor), Stages: max(1, t.Asked.Stages), Data: max(1, t.Asked.Data), Context: max(1, t.Asked.Context)})
	rules := []func(*engine.Case) *engine.Refusal{t.Engine.RefusesContext, t.Engine.RefusesAttentionData}
	if t.Asked.Stages > 0 {
		rules = append(rules, t.Engine.RefusesPipeline)
	}
	for _, rule := range rules {
		if r := rule(c); r != nil {
			return invalid("parallelism."+r.Degree, fmt.Sprint(r.Value), r.Reason())
		}
	}
	return nil
}

// RefusesAsked says why the engine cannot run weights in a format in the degrees that were asked for, whatever those are that were not;
// nil where it may.
func (t *Problem) RefusesAsked(weights v1alpha1.Precision) *engine.Refusal {
	if t.Asked.Tensor == 0 {
		return nil
	}
	c := t.ranks(t.Model.BlockSide(weights), t.Asked.Tensor, max(1, t.Asked.Data), max(1, t.Asked.Context))
	c.CutsBlocks, c.Expert = t.cutsBlocks(Format{Weights: weights}, t.Asked.Tensor), max(1, t.Asked.Expert)
	r := t.Engine.Refuses(c)
	if r == nil || r.Degree == engine.DegreeTensor || t.Asked.Expert > 0 && t.Asked.Data > 0 {
		return r
	}
	return nil
}
