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
	// permille of a device's memory that the engine takes at most; what it does not need of that becomes more KV cache.
	permille int64
	// instances is set where the engine does not serve a dense model with data parallelism, but by separate copies.
	instances bool
}

// Sources: vLLM's gpu_memory_utilization (default 0.9) is of the total, and start-up fails where less is free; SGLang's
// mem_fraction_static is likewise of the total, and is set to the same by the planner's launch files; TensorRT-LLM's
// kv_cache_free_gpu_memory_fraction (0.9) is of what the weights leave, for which 0.9 of the total is a safe bound. The
// other engines have no such limit. vLLM refuses data parallelism of dense models behind one external balancer.
var engines = map[v1alpha1.Engine]engineFacts{
	v1alpha1.EngineVLLM:        {permille: 900, instances: true},
	v1alpha1.EngineSGLang:      {permille: 900, instances: true},
	v1alpha1.EngineTensorRTLLM: {permille: 900, instances: true},
	v1alpha1.EngineMegatron:    {permille: 1000},
	v1alpha1.EngineDeepSpeed:   {permille: 1000},
	v1alpha1.EngineTorch:       {permille: 1000},
	v1alpha1.EngineJAX:         {permille: 1000},
	v1alpha1.EngineMPI:         {permille: 1000},
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
