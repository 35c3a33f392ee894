package engine

import (
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// vLLM refuses data parallelism of dense models behind one external balancer, takes any split by VLLM_PP_LAYER_PARTITION and
// has no pipelines of encoder-decoder models (none implements SupportsPP). By default get_pp_indices gives layers that are
// left over to the stages before the last one, from the back. Ranks: distributed/parallel_state (ExternalDP x DP x PP x TP);
// the expert group is all ranks of one stage. Memory: gpu_memory_utilization 0.9 of the total; SlidingWindowSpec keeps
// window - 1 + max_num_batched_tokens; EngineArgs.get_batch_defaults has large batches on devices of 70 GiB and more, except
// for A100, where they cost throughput. Decode context parallelism: MLACommonImpl takes it with caches of 16 bits only ("DCP not support fp8
// kvcache now", until pull request 44044), and on ROCm no backend for latents does (issue 57228). Tiles: where FlashAttention 3 does not run,
// version 2 takes prompts and sequences that decode in one launch; with a paged cache its tiles have 64 rows (kBlockM of run_mha_fwd_splitkv_dispatch),
// and heads that share keys are packed into one only where no sequence of the launch has more than one token (seqlenq_ngroups_swapped). Arguments: engine/arg_utils.py, distributed/utils.py.
var vllm = Engine{
	Name:       v1alpha1.EngineVLLM,
	Looked:     "0.19.0",
	Timed:      []Releases{{"0.12", "0.20"}},
	Support:    vllmSupport,
	Lacks:      vllmLacks,
	Documented: vllmHardware,
	Uses:       []Use{Serving},
	Parallelism: Parallelism{
		Instances: true, AttentionData: true, Context: &Context{},
		DecodeContext: &DecodeContext{Vendors: []string{"nvidia"}, Caches: []v1alpha1.Precision{v1alpha1.BF16, v1alpha1.FP16}},
	},
	Stages: Stages{Cuts: CutAnywhere, Rest: toBeforeLast, Without: []trait{withEncoder}},
	Tiles:  map[string]int{"Ampere": 64, "Ada": 64},
	Ranks:  Ranks{Order: "tp-pp-dp", Experts: Experts{Over: []string{"tp", "cp", "dp"}, Whole: true}},
	Memory: Memory{
		Rule: OfTotal, Permille: 900, Block: 16, Lookahead: true, PadsExperts: true, Shared: &vllmShared,
		Preemption:   Preemption{Recomputes: true, Source: "https://docs.vllm.ai/en/v0.17.1/configuration/optimization/"},
		Batches:      vllmBatches,
		SmallBatches: []string{"a100"},
	},
	Changes:   vllmChanges,
	Serves:    vllmServes,
	Launchers: []string{"vllm"},
	Arguments: slices.Concat(vllmArguments, vllmServing),
}

// vllmShared: blocks of 256 tokens, whose pages are whole multiples of 576 bytes; windows have 64 tokens a block, and the state that makes
// runs, a window itself, as many as fill a page of theirs: 4 of runs that overlap and 8 of others. Sources: https://vllm.ai/blog/deepseek-v4
// ("a unified 256-token logical block size, compressor state managed as sliding-window KV"), and the bytes of blocks in pull request 48993.
var vllmShared = SharedBlocks{Tokens: 256, Window: 64, Overlapping: 4, Plain: 8, Align: 576}
