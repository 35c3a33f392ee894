package engine

import "github.com/rankwright/rankwright/api/v1alpha1"

// Megatron-LM sets the layers of the first and the last stage and divides the others evenly (TransformerConfig:
// num_layers_in_first_pipeline_stage, num_layers_in_last_pipeline_stage). Each context rank has a piece from the front of a
// sequence and its counterpart from the back, so that causal attention is balanced (get_batch_on_this_cp_rank). Ranks:
// RankGenerator's default order; expert groups reuse ranks of cp and dp, tensor ranks keep their own. Its distributed
// optimizer shares states over data and context ranks (get_data_parallel_group with context parallel). Tensor ranks of a mixture of experts must share out tokens (validate_args). Transformer Engine's
// Linear and LayerNormLinear keep their inputs in FP8 for the gradient of the weights, where they multiply in it (save_for_backward); its DotProductAttention takes cuDNN's attention on Hopper and later.
var megatron = Engine{
	Name:        v1alpha1.EngineMegatron,
	Support:     megatronSupport,
	Documented:  megatronInstall,
	Uses:        []Use{Training},
	Parallelism: Parallelism{TrainsExperts: true, Context: &Context{Pieces: 2}},
	Stages:      Stages{Cuts: CutEnds, Without: []trait{withEncoder}},
	Jobs:        Jobs{SharesTokens: true, ExpertsShareTokens: true, Interleaves: true, UnequalRuns: true, FP8: true, KeepsFP8: true, Fused: true},
	Ranks:       Ranks{Order: "tp-cp-ep-dp-pp", Experts: Experts{Over: []string{"cp", "dp"}}},
	Memory:      addingUpIn32,
	Launchers:   []string{"megatron"},
	Arguments:   megatronArguments,
}
