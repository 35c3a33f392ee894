package plan

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

const (
	mib = 1 << 20
	gib = 1 << 30
)

// engineFacts is what the planner knows of an engine.
type engineFacts struct {
	// instances is set where the engine does not serve a dense model with data parallelism, but by separate copies.
	instances bool
	// attendsApart is set where groups of devices can each have sequences of their own while all share the experts, and
	// dataIsTensor where all tensor ranks must do so then.
	attendsApart, dataIsTensor bool
	// decodeContext is set where tensor ranks can share out the tokens of the cache.
	decodeContext bool
	// expertsOverData is set where an expert degree is chosen in training.
	expertsOverData bool
	// cuts are the runs of layers that the engine can be told to make stages of.
	cuts cuts
	// encoders is set where models with an encoder run as a pipeline, and untied where those with one table for embedding
	// and head do not.
	encoders, untied bool
	// passes says whether so many micro-batches of a step suit a pipeline of so many stages; nil takes any.
	passes func(count, stages int) bool
	// context says why a context degree is impossible; nil where the engine has none.
	context func(t *task, s shape) string
	// pipelines says why a pipeline is impossible; nil where it never is.
	pipelines func(t *task) string
}

// Sources. vLLM refuses data parallelism of dense models behind one external balancer, takes any split by
// VLLM_PP_LAYER_PARTITION, and has no pipelines of encoder-decoder models (none implements SupportsPP). SGLang and
// TensorRT-LLM have data parallelism for attention only, TensorRT-LLM of all tensor ranks at once (Mapping.dp_size), and take
// any split by SGLANG_PP_LAYER_PARTITION and pp_partition. Megatron sets the first and the last stage
// (num_layers_in_first_pipeline_stage, num_layers_in_last_pipeline_stage) and divides the others evenly. DeepSpeed's
// PipelineModule divides by itself (partition_uniform), and its ZeRO 2 and 3 are refused in pipelines. torchtitan takes any
// split (module_fqns_per_model_part), refuses tied tables (Decoder.Config) and fewer micro-batches than stages
// (PipelineScheduleSingle of PyTorch). MaxText has equal stages and micro-batches by the stage (microbatches_per_stage).
var engines = map[v1alpha1.Engine]engineFacts{
	v1alpha1.EngineVLLM:        {instances: true, attendsApart: true, decodeContext: true, context: func(*task, shape) string { return "" }},
	v1alpha1.EngineSGLang:      {instances: true, attendsApart: true},
	v1alpha1.EngineTensorRTLLM: {instances: true, attendsApart: true, dataIsTensor: true},
	v1alpha1.EngineMegatron:    {cuts: cutEnds, expertsOverData: true, context: contextInPairs},
	v1alpha1.EngineDeepSpeed:   {cuts: cutUniform, expertsOverData: true, context: contextByHeads, pipelines: pipelinesOfZeRO},
	v1alpha1.EngineTorch: {
		untied: true, context: contextBesideTensor, passes: func(count, stages int) bool { return count >= stages },
	},
	v1alpha1.EngineJAX: {cuts: cutEven, context: contextInPairs, passes: func(count, stages int) bool { return count%stages == 0 }},
	v1alpha1.EngineMPI: {encoders: true},
}

// contextInPairs: each context rank has a piece from the front of a sequence and its counterpart from the back, so that
// causal attention is balanced. Sources: Megatron-LM get_batch_on_this_cp_rank; MaxText's context_parallel_load_balance.
func contextInPairs(t *task, s shape) string { return t.sequenceBy(2 * s.context) }

// contextBesideTensor is torchtitan's ParallelDims.seq_len_divisor.
func contextBesideTensor(t *task, s shape) string { return t.sequenceBy(2 * s.context * s.tensor) }

// contextByHeads: DeepSpeed's sequence parallelism exchanges heads for tokens, and works neither with tensor nor with
// pipeline parallelism (initialize_model_parallel of Megatron-DeepSpeed).
func contextByHeads(t *task, s shape) string {
	if heads := int(t.model.Architecture.Attention.Heads); heads%s.context != 0 {
		return fmt.Sprintf("DeepSpeed needs a divisor of the %d heads of %s", heads, t.model.Name)
	}
	if s.tensor > 1 || s.stages > 1 {
		return fmt.Sprintf("DeepSpeed has it at tensor 1 and pipeline 1 alone, not at %d and %d", s.tensor, s.stages)
	}
	return t.sequenceBy(s.context)
}

// sequenceBy says that the length of a sequence is no multiple of a number.
func (t *task) sequenceBy(n int) string {
	w := t.workload.Training
	if w == nil || int(w.SequenceLength)%n == 0 {
		return ""
	}
	return fmt.Sprintf("sequenceLength %d is no multiple of %d, as %s needs it", w.SequenceLength, n, t.engine)
}

// pipelinesOfZeRO is DeepSpeed's PipelineEngine, which asserts a ZeRO stage below 2.
func pipelinesOfZeRO(t *task) string {
	if w := t.workload.Training; w != nil && shards(w.Sharding) && w.Sharding != "ZeRO1" {
		return fmt.Sprintf("DeepSpeed has no pipelines with sharding %s: use ZeRO1", w.Sharding)
	}
	return ""
}

// expertFits says whether the engine can share experts among a number of devices at these degrees. Sources as for the
// process groups in package mesh.
func expertFits(engine v1alpha1.Engine, expert, tensor, data, context int) bool {
	switch engine {
	case v1alpha1.EngineVLLM:
		return expert == tensor*data*context
	case v1alpha1.EngineSGLang, v1alpha1.EngineTensorRTLLM:
		return tensor*data%expert == 0
	case v1alpha1.EngineMegatron:
		return data*context%expert == 0
	case v1alpha1.EngineDeepSpeed:
		return data%expert == 0
	default:
		return tensor*data*context%expert == 0
	}
}
