package plan

import (
	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/memory"
)

// footprint is the memory of the devices of a layout for any run of layers.
type footprint struct {
	*memory.Footprint
	layers int
	// sequence is the cache of a typical sequence, prompt and answer, summed over the layers before an index.
	sequence []int64
	// running is the most sequences that the engine lets run at once, over all ranks.
	running int64
}

// bytes is what a device needs that holds layers first to end-1, to be compared with what it offers.
func (f *footprint) bytes(first, end int) int64 { return f.Need(first, end) }

// use is the same by component.
func (f *footprint) use(first, end int) v1alpha1.MemoryUse {
	u := f.Use(first, end)
	return v1alpha1.MemoryUse{
		WeightsBytes:     u.Weights,
		KVCacheBytes:     u.Cache,
		ActivationsBytes: u.Activations + u.Gradients + u.Optimizer,
		OverheadBytes:    u.Engine + u.Communication,
		TotalBytes:       u.Total(),
	}
}

// mayHold is a necessary condition for a split: what the devices offer together is what all stages together need.
func (f *footprint) mayHold(caps []int64) bool {
	if len(caps) == 1 {
		return f.bytes(0, f.layers) <= caps[0]
	}
	least := f.Least()
	need := f.bytes(0, f.layers) - least
	for _, c := range caps {
		need -= max(0, c-least)
	}
	return need <= 0
}

// holds is how many typical sequences the stages of a split have room for on devices of one offer.
func (f *footprint) holds(ends []int, offer int64) int64 {
	least := int64(-1)
	first := 0
	for _, end := range ends {
		n := f.Holds(first, end, offer, f.sequence[end]-f.sequence[first])
		if least < 0 || n < least {
			least = n
		}
		first = end
	}
	return max(0, least)
}

// even cuts the layers for so many equal devices such that the stage that needs most needs as little as it can. Of equal
// cuts it takes the one whose earlier stages are longest.
func (f *footprint) even(stages int) []int {
	if stages == 1 {
		return []int{f.layers}
	}
	low, high := f.bytes(0, f.layers)/int64(stages)/2, f.bytes(0, f.layers)
	for low < high {
		middle := low + (high-low)/2
		if f.cut(stages, middle, nil) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	ends := make([]int, stages)
	if !f.cut(stages, high, ends) {
		return nil
	}
	return ends
}

// cut says whether the layers go into so many stages of at most some bytes, and writes the ends.
func (f *footprint) cut(stages int, most int64, ends []int) bool {
	first := 0
	for stage := range stages {
		last := f.layers - (stages - stage - 1) // leave a layer for each later stage
		if stage == stages-1 {
			if first >= f.layers || f.bytes(first, f.layers) > most {
				return false
			}
			if ends != nil {
				ends[stage] = f.layers
			}
			return true
		}
		end := f.furthest(first, last, most)
		if end == first {
			return false
		}
		if ends != nil {
			ends[stage] = end
		}
		first = end
	}
	return false
}

// furthest is the end of the longest run from a layer on that needs at most some bytes; first where no run does.
func (f *footprint) furthest(first, last int, most int64) int {
	low, high := first, last
	for low < high {
		middle := (low + high + 1) / 2
		if f.bytes(first, middle) <= most {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low
}

// Batches of one step: an engine's defaults, or what the request needs and no more.
type limits struct{ tokens, sequences int64 }

// limitsOn are those of an engine on a device. Lean ones leave more room for weights and cache: the fewest tokens that an
// engine takes by itself anywhere, and only the sequences that are asked for.
func limitsOn(engine v1alpha1.Engine, d memory.Device, asked int64, lean bool) limits {
	var l limits
	l.tokens, l.sequences = memory.Limits(engine, d, false)
	if lean {
		l.tokens, l.sequences = min(l.tokens, leanTokens), min(l.sequences, max(asked, leanSequences))
	}
	l.sequences = max(l.sequences, asked)
	return l
}

// leanTokens is the chunk of prompts that vLLM and SGLang take on small devices.
const (
	leanTokens    = 2048
	leanSequences = 8
)
