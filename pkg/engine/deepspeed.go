package engine

import "github.com/rankwright/rankwright/api/v1alpha1"

// DeepSpeed's PipelineModule divides layers by itself (partition_uniform), and its PipelineEngine asserts a ZeRO stage below
// 2. Its sequence parallelism exchanges heads for tokens, and works neither with tensor nor with pipeline parallelism
// (initialize_model_parallel of Megatron-DeepSpeed). Ranks: ProcessTopology's row-major axes [pipe, data, model]; expert
// groups reuse ranks of dp (groups._create_expert_and_data_parallel). ZeRO shares states over the sequence data parallel
// group.
var deepSpeed = Engine{
	Name:        v1alpha1.EngineDeepSpeed,
	Support:     deepSpeedSupport,
	Documented:  deepSpeedReadme,
	Uses:        []Use{Training},
	Parallelism: Parallelism{TrainsExperts: true, Context: &Context{Pieces: 1, ByHeads: true}},
	Stages: Stages{
		Cuts: CutUniform, Without: []trait{withEncoder}, Shardings: []v1alpha1.TrainingSharding{"", "None", "ZeRO1"},
	},
	Ranks:     Ranks{Order: "tp-dp-pp", Experts: Experts{Over: []string{"dp"}}},
	Memory:    addingUpIn32,
	Launchers: []string{"deepspeed", "env"},
	Arguments: deepSpeedArguments,
}
