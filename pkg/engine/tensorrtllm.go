package engine

import (
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// TensorRT-LLM is built on CUDA and runs on NVIDIA's devices alone (its support matrix). It has data parallelism for
// attention only, of all tensor ranks at once (Mapping.dp_size), and takes any split by pp_partition. Ranks: Mapping
// (rank = tp + cp*tp_size + pp*tp_size*cp_size; moe_ep ranks are neighbours in a tensor group). Memory:
// kv_cache_free_gpu_memory_fraction 0.9 of what is free after the model ran once; max_num_tokens 8192, max_batch_size 2048,
// tokens_per_block 32; a sampler that has not been measured is counted as 16-bit logits and their 32-bit copy. Versions
// before 1 ran compiled engines, whose speed has constants of its own. Arguments: llmapi/llm_args.py (BaseLlmArgs).
var tensorRTLLM = Engine{
	Name:        v1alpha1.EngineTensorRTLLM,
	Words:       []string{"trtllm", "trt-llm", "tensorrt"},
	Looked:      "1.2.0rc6",
	Timed:       []Releases{{"0.17", "0.18"}, {"1", "1.3"}},
	Support:     trtSupport,
	Documented:  trtHardware,
	Uses:        []Use{Serving},
	Parallelism: Parallelism{Instances: true, AttentionData: true, AllAttentionData: true},
	Stages:      Stages{Cuts: CutAnywhere, Without: []trait{withEncoder}},
	Ranks:       Ranks{Order: "tp-dp-cp-pp", TensorHoldsData: true, Experts: Experts{Over: []string{"tp", "dp"}}},
	Memory: Memory{
		Rule: OfFree, Permille: 900, Block: 32, Sampler: 600, Batches: []Batches{{Serving: Batch{8192, 2048}}},
		// GUARANTEED_NO_EVICT, the default, admits a request only where it can end without another being paused.
		Preemption: Preemption{Source: "https://nvidia.github.io/TensorRT-LLM/performance/performance-tuning-guide/useful-runtime-flags.html"},
	},
	OldCosts:  "TensorRT-LLM 0",
	Serves:    tensorRTServes,
	Launchers: []string{"tensorrt-llm"},
	Arguments: slices.Concat(tensorRTArguments, tensorRTServing),
}
