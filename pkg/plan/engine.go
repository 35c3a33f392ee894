package plan

import "github.com/rankwright/rankwright/api/v1alpha1"

const (
	mib = 1 << 20
	gib = 1 << 30
	// maxBytes bounds every amount that is summed over layers or devices, so that no sum of a million of them wraps.
	maxBytes = 1 << 42
)

// engineFacts is what the planner knows of an engine.
type engineFacts struct {
	// instances is set where the engine does not serve a dense model with data parallelism, but by separate copies.
	instances bool
}

// Source: vLLM refuses data parallelism of dense models behind one external balancer; SGLang and TensorRT-LLM have it for
// attention only.
var engines = map[v1alpha1.Engine]engineFacts{
	v1alpha1.EngineVLLM:        {instances: true},
	v1alpha1.EngineSGLang:      {instances: true},
	v1alpha1.EngineTensorRTLLM: {instances: true},
	v1alpha1.EngineMegatron:    {},
	v1alpha1.EngineDeepSpeed:   {},
	v1alpha1.EngineTorch:       {},
	v1alpha1.EngineJAX:         {},
	v1alpha1.EngineMPI:         {},
}

// expertFits says whether the engine can share experts among a number of devices at these degrees. Sources as for the
// process groups in package mesh.
func expertFits(engine v1alpha1.Engine, expert, tensor, data int) bool {
	switch engine {
	case v1alpha1.EngineVLLM:
		return expert == tensor*data
	case v1alpha1.EngineSGLang, v1alpha1.EngineTensorRTLLM:
		return tensor%expert == 0
	case v1alpha1.EngineMegatron, v1alpha1.EngineDeepSpeed:
		return data%expert == 0
	default:
		return tensor*data%expert == 0
	}
}
