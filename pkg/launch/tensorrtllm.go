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
	name: "tensorrt-llm",
	check: func(c *Copy) error {
		if s := &c.Strategy; s.Data > 1 && s.Tensor > 1 {
			return fmt.Errorf("data %d beside tensor %d: its data ranks are all tensor ranks; plan with tensor 1 or data 1", s.Data, s.Tensor)
		}
		return first(c.equalRuns, c.ownHosts)
	},
	files: func(_ *Job, c *Copy) ([]File, error) {
		return []File{{c.fileName("trtllm.yaml"), tensorRTOptions(c)}, {c.fileName("hostfile"), openMPIHosts(c)}}, nil
	},
	shared: func(c *Copy, e *Environment) {
		openMPIVariables(c, e)
		e.add("--extra_llm_api_options", c.path("trtllm.yaml"))
	},
}

func tensorRTOptions(c *Copy) string {
	s := &c.Strategy
	var b strings.Builder
	line := func(name string, value any) { fmt.Fprintf(&b, "%s: %v\n", name, value) }
	line("tensor_parallel_size", c.tensor(v1alpha1.EngineTensorRTLLM))
	line("pipeline_parallel_size", s.Pipeline)
	line("context_parallel_size", s.Context)
	line("gpus_per_node", len(c.head().Ranks))
	if s.Expert > 1 {
		line("moe_expert_parallel_size", s.Expert)
	}
	line("enable_attention_dp", s.Data > 1)
	if s.Pipeline > 1 {
		line("pp_partition", "["+strings.ReplaceAll(numbers(c.Split), ",", ", ")+"]")
	}
	if c.Limits != nil {
		line("max_batch_size", c.Limits.Sequences)
		line("max_num_tokens", c.Limits.Tokens)
	}
	if c.KVCacheType == v1alpha1.FP8 {
		b.WriteString("kv_cache_config:\n  dtype: fp8\n")
	}
	return b.String()
}
