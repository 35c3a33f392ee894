package plan

import "github.com/rankwright/rankwright/api/v1alpha1"

// alike is the first class seen whose devices have the same footprints as those of a class: a device decides only about an
// engine's default batches, and under SGLang's rule about what is beside its static part.
func (a *attempt) alike(class int32) int32 {
	if class < 0 || a.task.engine == v1alpha1.EngineSGLang {
		return class
	}
	if known, ok := a.alikes[class]; ok {
		return known
	}
	var l limits
	if in := a.task.workload.Inference; in != nil {
		l = limitsOn(a.task.engine, a.task.smallest(class), int64(max(1, in.MaxSequences)), a.lean)
	}
	first, ok := a.firsts[l]
	if !ok {
		if a.firsts == nil {
			a.firsts, a.alikes = map[limits]int32{}, map[int32]int32{}
		}
		first = class
		a.firsts[l] = first
	}
	a.alikes[class] = first
	return first
}
