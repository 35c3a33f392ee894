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
// they get the one of Torch.
var engineOrders = map[v1alpha1.Engine]string{
	v1alpha1.EngineVLLM:        "tp-pp-dp",
	v1alpha1.EngineSGLang:      "tp-pp",
	v1alpha1.EngineTensorRTLLM: "tp-cp-pp",
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

// orderFor is the engine's order with what it lacks: data slowest, as separate instances side by side, and where a plan
// needs it context right after tensor, as in vLLM's PP x PCP x TP.
func orderFor(engine v1alpha1.Engine, context int) (string, error) {
	order := EngineOrder(engine)
	if order == "" {
		return "", fmt.Errorf("engine %q has no known order of ranks: use one of %s", engine, strings.Join(engineNames(), ", "))
	}
	names := strings.Split(order, "-")
	if context > 1 && !slices.Contains(names, "cp") {
		names = slices.Insert(names, 1, "cp")
	}
	if !slices.Contains(names, "dp") {
		names = append(names, "dp")
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
