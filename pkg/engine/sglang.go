package engine

import (
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// SGLang has data parallelism for attention only, whose ranks are runs of its tensor ranks
// (compute_dp_attention_world_info), takes any split by SGLANG_PP_LAYER_PARTITION, and gives layers that are left over to
// the last stages (get_pp_indices). Expert ranks are range(first, end, moe_tp_size) of a tensor group, which holds the
// data and attention context ranks (parallel_state). Memory: mem_fraction_static of the total, for weights and cache,
// which its launch files set to 0.9; 15 % more activations than TensorRT-LLM by AIConfigurator; a sampler that has not
// been measured is counted as 16-bit logits, their 32-bit copy and one of probabilities. chunked_prefill_size and the
// largest batch of a CUDA graph by memory for tensor degrees below 4: ServerArgs._handle_gpu_memory_settings; all data
// ranks together have one chunk (_handle_data_parallelism). Experts of more data ranks than a host has devices are reached by DeepEP, with all
// else whole on each: issue 6017 of its repository, where its makers run DeepSeek so on 32 and 72 ranks. Quantization while loading needs more memory at that time: its documentation of
// quantization. Arguments: srt/server_args.py, srt/distributed/utils.py.
var sglang = Engine{
	Name:        v1alpha1.EngineSGLang,
	Looked:      "0.5.10",
	Timed:       []Releases{{"0.5.1", "0.5.11"}},
	Support:     sglangSupport,
	Documented:  sglangHardware,
	Uses:        []Use{Serving},
	Parallelism: Parallelism{Instances: true, AttentionData: true, WideAbove: 8},
	Stages:      Stages{Cuts: CutAnywhere, Rest: toLast, Without: []trait{withEncoder}},
	Ranks: Ranks{
		Order: "tp-dp-pp", TensorHoldsData: true, Experts: Experts{Over: []string{"tp", "cp", "dp"}, Strided: true},
	},
	Memory: Memory{
		Rule: StaticOfTotal, Permille: 900, Block: 1, Sampler: 1000, Slack: 15, TokensOfAllData: true, LoadsWhole: true,
		Preemption: Preemption{Recomputes: true, Source: "https://docs.sglang.ai/advanced_features/hyperparameter_tuning.html"},
		Batches: []Batches{
			{Below: 20 * gib, Serving: Batch{2048, 8}},
			{Below: 35 * gib, Serving: Batch{2048, 24}},
			{Below: 60 * gib, Serving: Batch{4096, 32}},
			{Below: 160 * gib, Serving: Batch{8192, 256}},
			{Serving: Batch{16384, 512}},
		},
	},
	Running:   &Running{EachContext: 512, Least: 2048, Most: 4096, Tokens: 2, Source: "https://github.com/sgl-project/sglang/pull/27399, https://github.com/sgl-project/sglang/issues/4090"},
	Serves:    sglangServes,
	Launchers: []string{"sglang"},
	Arguments: slices.Concat(sglangArguments, sglangServing),
}
