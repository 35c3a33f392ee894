package mesh

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// engineOrders are the orders in which the engines number their ranks, fastest first. Sources: vLLM
// distributed/parallel_state (ExternalDP x DP x PP x TP), SGLang parallel_state docstring, TensorRT-LLM Mapping
// (rank = tp + cp*tp_size + pp*tp_size*cp_size), Megatron-LM RankGenerator's default, DeepSpeed's row-major axes
// [pipe, data, model], torchtitan's [pp, dp_replicate, dp_shard, cp, tp]. JAX and MPI leave the order to the program;
// they get the one of Torch. The data ranks of SGLang and TensorRT-LLM are runs of the engine's tensor ranks (SGLang
// compute_dp_attention_world_info, TensorRT-LLM Mapping.dp_size), so here they come right after them: the engine's tensor
// rank is tp + dp*tp_size.
var engineOrders = map[v1alpha1.Engine]string{
	v1alpha1.EngineVLLM:        "tp-pp-dp",
	v1alpha1.EngineSGLang:      "tp-dp-pp",
	v1alpha1.EngineTensorRTLLM: "tp-dp-cp-pp",
	v1alpha1.EngineMegatron:    "tp-cp-ep-dp-pp",
	v1alpha1.EngineDeepSpeed:   "tp-dp-pp",
	v1alpha1.EngineTorch:       "tp-cp-dp-pp",
	v1alpha1.EngineJAX:         "tp-cp-dp-pp",
	v1alpha1.EngineMPI:         "tp-cp-dp-pp",
}

// EngineOrder is the order in which an engine numbers its ranks, fastest dimension first; no engine means vLLM, the
// default of a placement. It is empty for an engine that is not known.
func EngineOrder(engine v1alpha1.Engine) string {
	if engine == "" {
		engine = v1alpha1.EngineVLLM
	}
	return engineOrders[engine]
}

// tensorHoldsData are the engines whose own tensor degree counts the data ranks as well.
var tensorHoldsData = map[v1alpha1.Engine]bool{v1alpha1.EngineSGLang: true, v1alpha1.EngineTensorRTLLM: true}

// TensorHoldsData says whether the engine's data ranks are a division of its tensor ranks, as the attention data
// parallelism of SGLang and TensorRT-LLM is. A strategy counts them apart, so that the product of its degrees is the
// number of devices: such an engine is started with a tensor degree of tensor x data.
func TensorHoldsData(engine v1alpha1.Engine) bool { return tensorHoldsData[engine] }

// orderFor is the engine's order with what it lacks: where a plan needs it, context right after tensor, as in vLLM's
// PP x PCP x TP.
func orderFor(engine v1alpha1.Engine, context int) (string, error) {
	order := EngineOrder(engine)
	if order == "" {
		return "", fmt.Errorf("engine %q has no known order of ranks: use one of %s", engine, strings.Join(engineNames(), ", "))
	}
	names := strings.Split(order, "-")
	if context > 1 && !slices.Contains(names, "cp") {
		names = slices.Insert(names, 1, "cp")
	}
	return strings.Join(names, "-"), nil
}

func engineNames() []string {
	names := make([]string, 0, len(engineOrders))
	for engine := range engineOrders {
		names = append(names, string(engine))
	}
	slices.Sort(names)
	return names
}
