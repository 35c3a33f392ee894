package plan

import (
	"fmt"

	"github.com/rankwright/rankwright/pkg/engine"
)

// runs returns the case of a shape that the engine is asked about.
func (t *task) runs(s shape) *engine.Case {
	return &engine.Case{
		Model: t.model.Name, Architecture: &t.model.Architecture, Training: t.workload.Training,
		Tensor: s.tensor, Stages: s.stages, Data: s.data, Context: s.context, Expert: s.expert,
	}
}

// passes returns the number of micro-batches of a data rank in a step of training; 0 in inference.
func (t *task) passes(data int) int { return t.runs(shape{data: data}).MicroBatches() }

// possible says whether the engine can run the stages and the context degree of a shape.
func (t *task) possible(s shape) bool {
	c := t.runs(s)
	return t.engine.RefusesContext(c) == nil && t.engine.RefusesPipeline(c) == nil
}

// checkAsked refuses asked-for degrees that the engine cannot run whatever the other degrees are.
func (t *task) checkAsked() error {
	c := t.runs(shape{tensor: max(1, t.asked.tensor), stages: max(1, t.asked.stages), data: max(1, t.asked.data), context: max(1, t.asked.context)})
	for _, rule := range [...]func(*engine.Case) *engine.Refusal{t.engine.RefusesContext, t.engine.RefusesPipeline, t.engine.RefusesAttentionData} {
		if r := rule(c); r != nil {
			return invalid("parallelism."+r.Degree, fmt.Sprint(r.Value), r.Reason())
		}
	}
	return nil
}
