package engine

import "github.com/rankwright/rankwright/api/v1alpha1"

// Torch is a program of torch.distributed, with the rules of torchtitan: it takes any split (module_fqns_per_model_part),
// refuses pipelines of tied tables (Decoder.Config) and, as PyTorch's PipelineScheduleSingle does, fewer micro-batches
// than stages. A sequence divides as ParallelDims.seq_len_divisor says. Ranks: [pp, dp_replicate, dp_shard, cp, tp];
// expert groups [pp, dp_replicate, efsdp, ep] over dp, cp and tp. The fsdp mesh joins dp_shard and cp.
// Tensor ranks share out tokens, stages interleave and matrices are multiplied in FP8 where its configuration says so (ParallelDims,
// pipeline_parallel_schedule Interleaved1F1B, docs/float8.md of torchtitan).
var torch = Engine{
	Name:        v1alpha1.EngineTorch,
	Support:     torchSupport,
	Documented:  torchStart,
	Words:       []string{"pytorch", "torchtitan"},
	Parallelism: Parallelism{Context: &Context{Pieces: 2, ByTensor: true}},
	Stages:      Stages{Cuts: CutAnywhere, Without: []trait{withEncoder, withTied}, MicroBatches: onePerStage},
	Jobs:        Jobs{SharesTokens: true, Interleaves: true, FP8: true},
	Ranks:       Ranks{Order: "tp-cp-dp-pp", Experts: Experts{Over: []string{"tp", "cp", "dp"}}},
	Memory:      sharingOverContext,
	Launchers:   []string{"env", "torchrun"},
}
