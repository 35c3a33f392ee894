package truth

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/memory"
	"github.com/rankwright/rankwright/pkg/model"
)

// instance is what the memory of an instance of a model depends on.
type instance struct {
	model          *model.Model
	product        *accelerator.Product
	engine         cost.Engine
	strategy       cost.Strategy
	weights, cache v1alpha1.Precision
	length         float64 // tokens of a request
}

var memoryEngines = map[cost.Engine]v1alpha1.Engine{
	cost.VLLM: v1alpha1.EngineVLLM, cost.SGLang: v1alpha1.EngineSGLang,
	cost.TensorRTLLM: v1alpha1.EngineTensorRTLLM, cost.TensorRTLLMOld: v1alpha1.EngineTensorRTLLM,
}

// sequences returns how many requests' caches the instance holds: the number of its tightest stage for each
// attention-data-parallel group.
func (i *instance) sequences() (float64, error) {
	s := i.strategy
	d := memory.Device{Vendor: "nvidia", Product: i.product.Name, TotalBytes: int64(i.product.MemoryMiB) << 20}
	f, err := memory.New(memory.Setup{
		Model: i.model, Engine: memoryEngines[i.engine], Weights: i.weights, KV: i.cache,
		Layout:    memory.Layout{Tensor: s.Tensor, Pipeline: s.Pipeline, AttentionData: s.AttentionData, Expert: s.Expert},
		Inference: &memory.Inference{MaxModelLen: int64(i.length), BatchedTokens: maxBatchedTokens},
	}, d)
	if err != nil {
		return 0, err
	}
	least := int64(0)
	for first, stages := 0, max(1, s.Pipeline); first < f.Layers(); stages-- {
		end := first + (f.Layers()-first+stages-1)/max(1, stages)
		room := f.Room(first, end, d)
		if !room.Fits() {
			return 0, fmt.Errorf("%s ran on %s and is said not to fit: layers %d to %d: %s", i.model.Name, i.product.Name, first, end, room.Reason)
		}
		if first == 0 || room.Sequences < least {
			least = room.Sequences
		}
		first = end
	}
	return float64(least) * float64(max(1, s.AttentionData)), nil
}
