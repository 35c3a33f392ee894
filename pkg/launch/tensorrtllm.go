package launch

import "github.com/rankwright/rankwright/pkg/engine"

// tensorRTLLM is `trtllm-llmapi-launch trtllm-serve` under MPI. Its tensor degree holds the data ranks, which are all of them
// (enable_attention_dp); local rank is rank modulo gpus_per_node. Sources: tensorrt_llm/llmapi/llm_args.py (BaseLlmArgs:
// the names of the fields, pp_partition), tensorrt_llm/mapping.py, tensorrt_llm/commands/serve.py (--extra_llm_api_options
// overrides the options of the command line).
var tensorRTLLM = launcher{
	name:  "tensorrt-llm",
	of:    ofTensorRT,
	check: (*Copy).equalRuns, listsHosts: true,
	files: func(_ *Job, c *Copy) ([]File, error) {
		options, err := tensorRTOptions(c)
		return []File{{c.fileName("trtllm.yaml"), options}, {c.fileName("hostfile"), openMPIHosts(c)}}, err
	},
	shared: func(c *Copy, e *Environment) {
		openMPIVariables(c, e)
		e.checkpoint(c)
		(&command{of: ofTensorRT, Environment: e}).tell(engine.ForFile, c.path("trtllm.yaml"))
	},
}

// tensorRTOptions is the file of options. Data ranks have the limits of a step each.
func tensorRTOptions(c *Copy) (string, error) {
	s, w := &c.Strategy, &command{of: ofTensorRT, Environment: &Environment{}}
	w.tell(engine.ForTensor, c.tensor(ofTensorRT))
	w.tell(engine.ForPipeline, s.Pipeline)
	w.tell(engine.ForContext, s.Context)
	w.tell(engine.ForDevices, len(c.head().Ranks))
	w.degree(engine.ForExpert, s.Expert)
	w.tell(engine.ForAttentionData, s.Data > 1)
	w.split(c)
	w.serving(c, 1)
	return w.yaml()
}
