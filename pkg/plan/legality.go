package plan

import (
	"fmt"
)

// refusesContext says why the engine cannot run a shape with its context degree; empty where it can.
func (t *task) refusesContext(s shape) string {
	switch {
	case s.context <= 1:
		return ""
	case t.facts.context == nil:
		return fmt.Sprintf("%s has no context parallelism that adds devices: leave it out or set it to 1", t.engine)
	default:
		return t.facts.context(t, s)
	}
}

// refusesPipeline says why the engine cannot run so many stages; empty where it can.
func (t *task) refusesPipeline(s shape) string {
	a := &t.model.Architecture
	switch {
	case s.stages <= 1:
		return ""
	case a.Encoder != nil && !t.facts.encoders:
		return fmt.Sprintf("%s has no pipelines of models with an encoder: leave it out or set it to 1", t.engine)
	case a.TiedEmbeddings && t.facts.untied:
		return fmt.Sprintf("%s has no pipelines of models whose embedding and head are one table: leave it out or set it to 1", t.engine)
	case !t.facts.cuts.possible(int(a.Layers), s.stages):
		return fmt.Sprintf("%s divides layers evenly, and %d stages do not divide %d", t.engine, s.stages, a.Layers)
	}
	if t.facts.pipelines != nil {
		if why := t.facts.pipelines(t); why != "" {
			return why
		}
	}
	if count := t.passes(s.data); t.facts.passes != nil && count > 0 && !t.facts.passes(count, s.stages) {
		return fmt.Sprintf("%s cannot run %d stages with %d micro-batches of a data rank in a step", t.engine, s.stages, count)
	}
	return ""
}

// passes is how many micro-batches a data rank has in a step of training; 0 in inference.
func (t *task) passes(data int) int {
	w := t.workload.Training
	if w == nil {
		return 0
	}
	return int(w.GlobalBatch) / (max(1, int(w.MicroBatch)) * max(1, data))
}

// possible says whether the engine can run a shape.
func (t *task) possible(s shape) bool { return t.refusesContext(s) == "" && t.refusesPipeline(s) == "" }

// checkAsked refuses degrees that are asked for and that the engine cannot run, whatever the free ones are.
func (t *task) checkAsked() error {
	s := shape{tensor: max(1, t.asked.tensor), stages: max(1, t.asked.stages), data: max(1, t.asked.data), context: max(1, t.asked.context)}
	if why := t.refusesContext(s); why != "" {
		return invalid("parallelism.context", fmt.Sprint(s.context), why)
	}
	if why := t.refusesPipeline(s); why != "" {
		return invalid("parallelism.pipeline", fmt.Sprint(s.stages), why)
	}
	if t.facts.dataIsTensor && t.asked.data > 1 && t.asked.tensor > 1 {
		return invalid("parallelism.data", fmt.Sprint(t.asked.data),
			fmt.Sprintf("%s has as many data ranks as tensor ranks, which are counted once: set tensor to 1 and data to the number of devices", t.engine))
	}
	return nil
}
