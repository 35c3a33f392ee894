package shape

import (
	"fmt"

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
	for _, rule := range [...]func(*engine.Case) *engine.Refusal{t.Engine.RefusesContext, t.Engine.RefusesPipeline, t.Engine.RefusesAttentionData} {
		if r := rule(c); r != nil {
			return invalid("parallelism."+r.Degree, fmt.Sprint(r.Value), r.Reason())
		}
	}
	return nil
}
