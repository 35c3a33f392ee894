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
		if err := j.runsThere(e, c); err != nil {
			return fmt.Errorf("%s cannot run copy %d: %w", e.Name, c.Number, err)
		}
		if err := c.runsOn(e, j.pads(e, c)); err != nil {
			return fmt.Errorf("%s cannot run copy %d: %w", e.Name, c.Number, err)
		}
	}
	return nil
}

// runsThere says why an engine does not run the copy's weights on one of its devices.
func (j *Job) runsThere(e *engine.Engine, c *Copy) error {
	use := engine.Serving
	if c.Training != nil {
		use = engine.Training
	}
	for i := range c.Pods {
		for _, id := range c.Pods[i].Devices {
			if err := e.Runs(j.known(c.Pods[i].Node, id), use, c.quantization, &c.model.Architecture); err != nil {
				return err
			}
		}
	}
	return nil
}

// known is what is known of a device: at least the vendor, which its id names.
func (j *Job) known(node string, id v1alpha1.DeviceID) engine.Device {
	if j.device != nil {
		if d := j.device(node, id); d != nil {
			return engine.Device{Vendor: d.Vendor, Product: d.Product, Architecture: d.Architecture}
		}
	}
	return engine.Device{Vendor: id.Vendor()}
}

// pads says whether the engine adds heads on all devices of the copy.
func (j *Job) pads(e *engine.Engine, c *Copy) bool {
	for i := range c.Pods {
		for _, id := range c.Pods[i].Devices {
			if on := j.known(c.Pods[i].Node, id); e.Cores(&on) == 0 {
				return false
			}
		}
	}
	return true
}

// runsOn says why an engine cannot run the copy: its degrees or its stages.
func (c *Copy) runsOn(e *engine.Engine, pads bool) error {
	s := &c.Strategy
	architecture := &c.model.Architecture
	if pads && c.Training == nil {
		architecture = engine.Padded(architecture, int(s.Tensor))
	}
	asked := engine.Case{
		Model: c.model.Name, Architecture: architecture, Tensor: int(s.Tensor), Stages: int(s.Pipeline), Data: int(s.Data),
		Context: int(s.Context), Expert: max(1, int(s.Expert)),
	}
	if c.Limits == nil {
		asked.Training = &v1alpha1.TrainingWorkload{} // a plan does not keep the batch and the sequence
	}
	if r := e.Refuses(&asked); r != nil {
		return r
	}
	if r := e.RefusesSplit(c.Split, c.Training); r != nil {
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
