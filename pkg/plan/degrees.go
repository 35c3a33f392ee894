package plan

import (
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// degree is a choice of degrees within a stage.
type degree struct {
	tensor, data, expert int
	block                bool
}

// degrees are the choices that the model, the engine, the format and the lane allow.
func (t *task) degrees(s step, l *lane) []degree {
	limit := l.limit
	var found []degree
	for _, tensor := range t.tensors(limit) {
		for _, data := range t.datas(tensor, limit) {
			for _, expert := range t.experts(s, tensor, data) {
				inference := t.workload.Training == nil && data > 1
				if inference && tensor*data <= limit {
					found = append(found, degree{tensor, data, expert, true})
				}
				if !inference || t.asked.data > 1 {
					found = append(found, degree{tensor, data, expert, false})
				}
			}
		}
	}
	return found
}

func (t *task) tensors(limit int) []int {
	if n := t.asked.tensor; n > 0 {
		return []int{n}
	}
	if t.splits == nil {
		t.splits = t.model.TensorDegrees(maxTensor)
	}
	return t.splits[:sortedUpTo(t.splits, limit)]
}

// maxTensor is the largest tensor degree that is chosen.
const maxTensor = 256

func sortedUpTo(sorted []int, limit int) int {
	at, found := slices.BinarySearch(sorted, limit)
	if found {
		at++
	}
	return at
}

// datas are the data degrees: in inference groups that attend to sequences of their own and share the experts, which only
// mixtures have; in training as many as are asked for.
func (t *task) datas(tensor, limit int) []int {
	if t.asked.data > 0 || t.workload.Training != nil || t.model.Architecture.MoE == nil || !attendsApart[t.engine] {
		return []int{max(1, t.asked.data)}
	}
	degrees := []int{1}
	for d := 2; d*tensor <= min(limit, maxAttentionData); d *= 2 {
		degrees = append(degrees, d)
	}
	return degrees
}

// maxAttentionData bounds the devices of attention data parallelism that is chosen: what one host has.
const maxAttentionData = 8

// attendsApart are the engines that can give each group of devices sequences of its own while all share the experts.
var attendsApart = map[v1alpha1.Engine]bool{v1alpha1.EngineVLLM: true, v1alpha1.EngineSGLang: true, v1alpha1.EngineTensorRTLLM: true}

// experts are the expert degrees: 1 and all ranks of a stage. Weights with scales for square blocks can be cut in tensor
// ranks only along the blocks; where that cannot be, whole experts are shared out.
func (t *task) experts(s step, tensor, data int) []int {
	moe := t.model.Architecture.MoE
	if moe == nil {
		if t.cutsBlocks(s, int(t.model.Architecture.MLP.IntermediateSize), tensor) {
			return nil
		}
		return []int{1}
	}
	if t.asked.expert > 0 {
		if t.asked.expert > 1 && !expertFits(t.engine, t.asked.expert, tensor, data) {
			return nil
		}
		return []int{t.asked.expert}
	}
	if t.cutsBlocks(s, int(t.model.Architecture.MLP.IntermediateSize), tensor) || t.cutsBlocks(s, int(moe.SharedIntermediateSize), tensor) {
		return nil
	}
	var degrees []int
	if data == 1 && !t.cutsBlocks(s, int(moe.IntermediateSize), tensor) {
		degrees = append(degrees, 1)
	}
	ranks := tensor * data
	if t.workload.Training == nil && ranks > 1 && int(moe.Experts)%ranks == 0 && expertFits(t.engine, ranks, tensor, data) {
		degrees = append(degrees, ranks)
	}
	return degrees
}

// cutsBlocks says whether a width divided by the tensor degree would cut a block of weights.
func (t *task) cutsBlocks(s step, width, tensor int) bool {
	side := t.model.BlockSide(s.format)
	return side > 1 && width > 0 && tensor > 1 && (width%tensor != 0 || width/tensor%side != 0)
}
