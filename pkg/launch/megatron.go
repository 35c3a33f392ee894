package launch

// megatron is a program of Megatron-LM under torchrun. Stages are equal unless the sizes of the first and the last are given.
// Sources: megatron/training/arguments.py, megatron/core/transformer/transformer_config.py
// (num_layers_in_first_pipeline_stage, num_layers_in_last_pipeline_stage), megatron/core/parallel_state.py (default order).
var megatron = launcher{
	name: "megatron",
	check: func(c *Copy) error {
		return first(c.equalRuns, c.equalMiddle)
	},
	shared: func(c *Copy, e *Environment) {
		torchrun.shared(c, e)
		s := &c.Strategy
		e.add("--tensor-model-parallel-size", s.Tensor, "--pipeline-model-parallel-size", s.Pipeline, "--context-parallel-size", s.Context)
		if s.Expert > 1 {
			e.add("--expert-model-parallel-size", s.Expert, "--expert-tensor-parallel-size", s.Tensor)
		}
		if c.even() != nil {
			e.add("--decoder-first-pipeline-num-layers", c.Split[0], "--decoder-last-pipeline-num-layers", c.Split[len(c.Split)-1])
		}
	},
	pod: func(c *Copy, p *Pod, e *Environment) { torchrun.pod(c, p, e) },
}
