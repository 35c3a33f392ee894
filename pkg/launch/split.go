package launch

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
)

// The engines whose own command a launcher is.
var (
	ofVLLM      = engine.StartedBy("vllm")
	ofSGLang    = engine.StartedBy("sglang")
	ofTensorRT  = engine.StartedBy("tensorrt-llm")
	ofMegatron  = engine.StartedBy("megatron")
	ofDeepSpeed = engine.StartedBy("deepspeed")
	ofJAX       = engine.StartedBy("jax")
)

// runsOn says why an engine cannot run the placement.
func (j *Job) runsOn(e *engine.Engine) error {
	for i := range j.Copies {
		c := &j.Copies[i]
		if err := c.runsOn(e); err != nil {
			return fmt.Errorf("%s cannot run copy %d: %w", e.Name, c.Number, err)
		}
	}
	return nil
}

// runsOn says why an engine cannot run the copy: its devices, its degrees or its stages.
func (c *Copy) runsOn(e *engine.Engine) error {
	if err := e.Runs(engine.Device{Vendor: vendorOf(c)}, c.quantization, &c.model.Architecture); err != nil {
		return err
	}
	s := &c.Strategy
	asked := engine.Case{
		Model: c.model.Name, Architecture: &c.model.Architecture, Tensor: int(s.Tensor), Stages: int(s.Pipeline), Data: int(s.Data),
		Context: int(s.Context), Expert: max(1, int(s.Expert)),
	}
	if c.Limits == nil {
		asked.Training = &v1alpha1.TrainingWorkload{} // a plan does not keep the batch and the sequence
	}
	if r := e.Refuses(&asked); r != nil {
		return r
	}
	if r := e.RefusesSplit(c.Split); r != nil {
		return r
	}
	return nil
}

// first makes checks in order and returns the first error.
func first(checks ...func() error) error {
	for _, check := range checks {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// tensor is what an engine calls its tensor degree.
func (c *Copy) tensor(e *engine.Engine) int {
	return e.Ranks.Tensor(int(c.Strategy.Tensor), int(c.Strategy.Data))
}
