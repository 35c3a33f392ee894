package launch

import (
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// tensorRTLLM is `trtllm-llmapi-launch trtllm-serve` under MPI. Its tensor degree holds the data ranks, which are all of them
// (enable_attention_dp); local rank is rank modulo gpus_per_node. Sources: tensorrt_llm/llmapi/llm_args.py (BaseLlmArgs:
// the names of the fields, pp_partition), tensorrt_llm/mapping.py, tensorrt_llm/commands/serve.py (--extra_llm_api_options
// overrides the options of the command line).
var tensorRTLLM = launcher{
	name:  "tensorrt-llm",
	of:    ofTensorRT,
	check: func(c *Copy) error { return first(c.equalRuns, c.ownHosts) },
	files: func(_ *Job, c *Copy) ([]File, error) {
		return []File{{c.fileName("trtllm.yaml"), tensorRTOptions(c)}, {c.fileName("hostfile"), openMPIHosts(c)}}, nil
	},
	shared: func(c *Copy, e *Environment) {
		openMPIVariables(c, e)
		e.add("--extra_llm_api_options", c.path("trtllm.yaml"))
	},
}

func tensorRTOptions(c *Copy) string {
	s, is := &c.Strategy, &ofTensorRT.Arguments
	var b strings.Builder
	line := func(name string, value any) { fmt.Fprintf(&b, "%s: %v\n", name, value) }
	line(is.Tensor, c.tensor(ofTensorRT))
	line(is.Pipeline, s.Pipeline)
	line(is.Context, s.Context)
	line("gpus_per_node", len(c.head().Ranks))
	if s.Expert > 1 {
		line(is.Expert, s.Expert)
	}
	line(is.Data, s.Data > 1)
	if s.Pipeline > 1 {
		line(is.Split, "["+strings.ReplaceAll(numbers(c.Split), ",", ", ")+"]")
	}
	if c.Limits != nil {
		line(is.Sequences, c.Limits.Sequences)
		line(is.Tokens, c.Limits.Tokens)
	}
	if c.KVCacheType == v1alpha1.FP8 {
		fmt.Fprintf(&b, "%s:\n  dtype: %s\n", is.Cache, is.CacheFP8)
	}
	return b.String()
}
