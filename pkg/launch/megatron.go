package launch

import "slices"

// megatron is a program of Megatron-LM under torchrun. Stages are equal unless the sizes of the first and the last are given.
// Sources: megatron/training/arguments.py, megatron/core/transformer/transformer_config.py
// (num_layers_in_first_pipeline_stage, num_layers_in_last_pipeline_stage), megatron/core/parallel_state.py (default order).
var megatron = launcher{
	name:  "megatron",
	of:    ofMegatron,
	check: (*Copy).equalRuns,
	shared: func(c *Copy, e *Environment) {
		torchrun.shared(c, e)
		s, is := &c.Strategy, &ofMegatron.Arguments
		e.add(is.Tensor, s.Tensor, is.Pipeline, s.Pipeline, is.Context, s.Context)
		if s.Expert > 1 {
			e.add(is.Expert, s.Expert, "--expert-tensor-parallel-size", s.Tensor)
		}
		if slices.Max(c.Split) != slices.Min(c.Split) {
			e.add(is.First, c.Split[0], is.Last, c.Split[len(c.Split)-1])
		}
	},
	pod: func(c *Copy, p *Pod, e *Environment) { torchrun.pod(c, p, e) },
}
