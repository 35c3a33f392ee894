package plan

import (
	"slices"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

func both(changes ...func(*plantest.Spec)) func(*plantest.Spec) {
	return func(s *plantest.Spec) {
		for _, change := range changes {
			change(s)
		}
	}
}

// rule is a check that an engine does when it starts, from its own source or documentation, in words of its own flags.
type rule struct {
	source string
	check  func(l *launch) bool
}

// launch is a plan as an engine is started with it.
type launch struct {
	arch                                         *v1alpha1.Architecture
	training                                     *v1alpha1.TrainingWorkload
	tensor, pipeline, data, expert, context, dcp int
	split                                        []int
	// block is the side of FP8 blocks, 1 without.
	block int
}

func (l *launch) heads() int { return int(l.arch.Attention.Heads) }
func (l *launch) kv() int    { return max(1, int(l.arch.Attention.KVHeads)) }

// whole says whether so many ranks get equal parts of a width, in whole blocks.
func (l *launch) whole(width int32, ranks int) bool {
	return ranks <= 1 || int(width)%ranks == 0 && int(width)/ranks%l.block == 0
}

func (l *launch) layers() int { return int(l.arch.Layers) }

func (l *launch) passes() int {
	return int(l.training.GlobalBatch) / (max(1, int(l.training.MicroBatch)) * l.data)
}

// attention is the tensor degree of attention where data ranks lie inside the tensor ranks.
func (l *launch) attention(inside bool) int {
	if inside {
		return l.tensor / l.data
	}
	return l.tensor
}

func headsDivide(inside bool) rule {
	return rule{"ModelConfig.verify_with_parallel_config: heads % tp; QKVParallelLinear: kv % tp or tp % kv", func(l *launch) bool {
		n := l.attention(inside)
		return n > 0 && l.heads()%n == 0 && (l.arch.Attention.MLA != nil || l.kv()%n == 0 || n%l.kv() == 0)
	}}
}

// expertWidth: the ranks of a stage that are left of an expert degree share the width of an expert.
func expertWidth(ranks func(l *launch) int) rule {
	return rule{"FusedMoE: intermediate % moe_tp, in blocks (Fp8MoEMethod.create_weights)", func(l *launch) bool {
		if l.arch.MoE == nil {
			return l.expert == 1
		}
		return ranks(l)%l.expert == 0 && int(l.arch.MoE.Experts)%l.expert == 0 && l.whole(l.arch.MoE.IntermediateSize, ranks(l)/l.expert)
	}}
}

// attentionWidth: queries, keys and values, and the input of the output projection are cut in whole blocks too.
func attentionWidth(inside bool) rule {
	return rule{"QKVParallelLinear and RowParallelLinear with validate_fp8_block_shape: head widths in blocks", func(l *launch) bool {
		n, a := l.attention(inside), &l.arch.Attention
		if n <= 1 || l.block <= 1 || a.Compressed != nil || l.arch.Recurrent != nil {
			return true
		}
		heads := l.heads() / n
		if mla := a.MLA; mla != nil {
			return heads*int(mla.VHeadDim)%l.block == 0 && heads*int(mla.QKNopeHeadDim+mla.QKRopeHeadDim)%l.block == 0 &&
				heads*int(mla.QKNopeHeadDim+mla.VHeadDim)%l.block == 0
		}
		return heads*int(a.HeadDim)%l.block == 0 && max(1, l.kv()/n)*int(a.HeadDim)%l.block == 0
	}}
}

func denseWidth(ranks func(l *launch) int) rule {
	return rule{"MergedColumnParallelLinear and validate_fp8_block_shape: width % tp, in blocks", func(l *launch) bool {
		moe := l.arch.MoE
		if moe == nil {
			return l.whole(l.arch.MLP.IntermediateSize, ranks(l))
		}
		dense := moe.FirstLayer > 0 || moe.Interval > 1
		return (!dense || l.whole(l.arch.MLP.IntermediateSize, ranks(l))) && l.whole(moe.SharedIntermediateSize, ranks(l))
	}}
}

var noEncoder = rule{"SupportsPP is implemented by no encoder-decoder model", func(l *launch) bool { return l.pipeline == 1 || l.arch.Encoder == nil }}

var noContext = rule{"no degree of context parallelism that adds ranks", func(l *launch) bool { return l.context == 1 }}

var noDecodeContext = rule{"no decode context parallelism is planned", func(l *launch) bool { return l.dcp == 1 }}

func tensorOf(l *launch) int { return l.tensor }

// everyLayer: the split has every layer once, and a stage for each rank of the pipeline.
var everyLayer = rule{"get_pp_indices: len(partition) == pp_size and sum(partition) == num_hidden_layers", func(l *launch) bool {
	sum := 0
	for _, n := range l.split {
		if n < 1 {
			return false
		}
		sum += n
	}
	return sum == l.layers() && len(l.split) == l.pipeline
}}

func sequenceMultiple(source string, of func(l *launch) int) rule {
	return rule{source, func(l *launch) bool { return l.context == 1 || int(l.training.SequenceLength)%of(l) == 0 }}
}

var batches = rule{"num_microbatches_calculator: global_batch % (micro_batch * data_parallel) == 0, and at least one", func(l *launch) bool {
	return int(l.training.GlobalBatch)%(max(1, int(l.training.MicroBatch))*l.data) == 0 && l.passes() >= 1
}}

// rules are the documented checks by engine.
var rules = map[v1alpha1.Engine][]rule{
	v1alpha1.EngineVLLM: {
		headsDivide(false), attentionWidth(false), denseWidth(tensorOf), noEncoder, everyLayer,
		expertWidth(func(l *launch) int { return l.tensor * l.context * l.data }),
		{"FusedMoEParallelConfig: ep is 1 or tp x pcp x dp", func(l *launch) bool { return l.expert == 1 || l.expert == l.tensor*l.context*l.data }},
		{"ParallelConfig: tp % dcp; MLA: dcp <= tp, else dcp <= tp / kv and (heads / kv) % dcp", func(l *launch) bool {
			if l.arch.Attention.MLA != nil {
				return l.tensor%l.dcp == 0
			}
			return l.dcp == 1 || l.tensor%l.dcp == 0 && l.dcp <= l.tensor/l.kv() && l.heads()/l.kv()%l.dcp == 0
		}},
	},
	v1alpha1.EngineSGLang: {
		headsDivide(true), attentionWidth(true), noEncoder, noContext, noDecodeContext, everyLayer, expertWidth(tensorOf),
		// --moe-dense-tp-size 1 leaves the dense blocks whole, which takes an attention without tensor ranks.
		denseWidth(func(l *launch) int {
			if l.data > 8 && l.data == l.tensor && l.expert == l.tensor {
				return 1
			}
			return l.tensor
		}),
		{"ServerArgs._handle_data_parallelism: tp % dp; _handle_moe: tp % ep", func(l *launch) bool { return l.tensor%l.data == 0 && l.tensor%l.expert == 0 }},
	},
	v1alpha1.EngineTensorRTLLM: {
		headsDivide(true), noEncoder, noContext, noDecodeContext, everyLayer, expertWidth(tensorOf),
		{"Mapping.dp_size is 1 or tp; moe_tp * moe_ep == tp", func(l *launch) bool { return (l.data == 1 || l.data == l.tensor) && l.tensor%l.expert == 0 }},
	},
	v1alpha1.EngineMegatron: {
		headsDivide(false), noEncoder, noDecodeContext, everyLayer, batches,
		{"TransformerConfig: layers between the first and the last stage are divided evenly", func(l *launch) bool {
			return l.pipeline < 4 || len(slices.Compact(slices.Clone(l.split[1:l.pipeline-1]))) == 1
		}},
		{"parallel_state: dp x cp % ep", func(l *launch) bool { return l.data*l.context%l.expert == 0 }},
		sequenceMultiple("arguments.py: seq_length % (2 x context_parallel_size)", func(l *launch) int { return 2 * l.context }),
	},
	v1alpha1.EngineDeepSpeed: {
		headsDivide(false), noEncoder, noDecodeContext, everyLayer, batches,
		{"partition_uniform: the first stages have one layer more", func(l *launch) bool {
			for i, n := range l.split {
				want := l.layers() / l.pipeline
				if i < l.layers()%l.pipeline {
					want++
				}
				if n != want {
					return false
				}
			}
			return true
		}},
		{"groups._create_expert_and_data_parallel: dp % ep", func(l *launch) bool { return l.data%l.expert == 0 }},
		{"PipelineEngine: ZeRO below 2", func(l *launch) bool {
			return l.pipeline == 1 || slices.Contains([]v1alpha1.TrainingSharding{"", "None", "ZeRO1"}, l.training.Sharding)
		}},
		{"initialize_model_parallel: sequence parallel at tp 1 and pp 1; Ulysses: heads % sp", func(l *launch) bool {
			return l.context == 1 || l.tensor == 1 && l.pipeline == 1 && l.heads()%l.context == 0
		}},
		sequenceMultiple("Ulysses: sequence % sp", func(l *launch) int { return l.context }),
	},
	v1alpha1.EngineTorch: {
		headsDivide(false), noEncoder, noDecodeContext, everyLayer, batches,
		{"Decoder.Config: no weight tying with pipeline parallel", func(l *launch) bool { return l.pipeline == 1 || !l.arch.TiedEmbeddings }},
		{"PipelineScheduleSingle: n_microbatches >= num_stages", func(l *launch) bool { return l.pipeline == 1 || l.passes() >= l.pipeline }},
		sequenceMultiple("ParallelDims.seq_len_divisor: 2 x cp x tp", func(l *launch) int { return 2 * l.context * l.tensor }),
	},
	v1alpha1.EngineJAX: {
		headsDivide(false), noEncoder, noDecodeContext, everyLayer, batches,
		{"MaxText: layers % stages and microbatches % stages", func(l *launch) bool {
			return l.pipeline == 1 || l.layers()%l.pipeline == 0 && l.passes()%l.pipeline == 0
		}},
		sequenceMultiple("MaxText: load-balanced context parallelism takes pairs of pieces", func(l *launch) int { return 2 * l.context }),
	},
	v1alpha1.EngineMPI: {headsDivide(false), noContext, noDecodeContext, everyLayer},
}

// insideTensor are the engines whose tensor degree counts the data ranks.
var insideTensor = []v1alpha1.Engine{v1alpha1.EngineSGLang, v1alpha1.EngineTensorRTLLM}

// launchOf is how a shape of a plan is started.
func launchOf(r shape.Request, spec *v1alpha1.ShardingPlanSpec, planned v1alpha1.PlanShape) *launch {
	s := planned.Strategy
	l := &launch{
		arch: &r.Model.Architecture, training: r.Placement.Spec.Workload.Training, tensor: int(s.Tensor), pipeline: int(s.Pipeline), data: int(s.Data),
		expert: int(s.Expert), context: int(s.Context), dcp: max(1, int(s.DecodeContext)), block: r.Model.BlockSide(spec.Quantization),
	}
	if slices.Contains(insideTensor, spec.Engine) {
		l.tensor *= l.data
	}
	for _, stage := range planned.Stages {
		l.split = append(l.split, int(stage.LastLayer-stage.FirstLayer)+1)
	}
	return l
}

// checkLegal holds a shape of a plan to the checks of its engine.
func checkLegal(t failer, r shape.Request, spec *v1alpha1.ShardingPlanSpec, planned v1alpha1.PlanShape) {
	t.Helper()
	l := launchOf(r, spec, planned)
	for _, rule := range rules[spec.Engine] {
		if !rule.check(l) {
			t.Errorf("%s refuses %s of %s in %s, split %v: %s", spec.Engine, planned.Strategy.Summary, r.Model.Name, spec.Quantization, l.split, rule.source)
		}
	}
}

// TestPlansKeepTheEnginesSplit plans pipelines of 61 and 126 layers on devices of two kinds with engines that cannot be
// given any split; checkPlan holds each to its engine's checks.
func TestPlansKeepTheEnginesSplit(t *testing.T) {
	small, large := plantest.A100, plantest.H200
	small.MiB = 40960
	nodes := []fleet.Node{plantest.Host("a", true, plantest.Times8(large)...), plantest.Host("b", true, plantest.Times8(small)...), plantest.Host("c", true, plantest.Times8(small)...)}
	for _, e := range []v1alpha1.Engine{"Megatron", "DeepSpeed", "JAX", "Torch", "MPI"} {
		planned := 0
		for _, layers := range []int32{60, 61, 80} {
			for _, stages := range []int32{2, 3, 4, 5} {
				m := plantest.Llama(t, 70)
				m.Architecture.Layers = layers
				r := ask(m, 1, 1, plantest.EngineOf(e), plantest.Train(v1alpha1.TrainingWorkload{SequenceLength: 2048, GlobalBatch: 60, Method: "LoRA", ActivationCheckpointing: true}),
					plantest.Parallelism(v1alpha1.Parallelism{Pipeline: plantest.Ptr(stages)}))
				spec, err := Plan(fleet.NewCluster(nodes), r)
				if err != nil {
					if e == "JAX" && layers%stages != 0 {
						continue
					}
					t.Errorf("%s, %d layers in %d stages: %v", e, layers, stages, err)
					continue
				}
				planned++
				checkPlan(t, nodes, r, spec)
			}
		}
		if planned < 6 {
			t.Errorf("%s: %d plans", e, planned)
		}
	}
}
