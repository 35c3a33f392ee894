package shape

import (
	"math"
	"sync"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/memory"
)

// Footprint is the memory that devices of a layout need for any run of layers. Plans that run at once may share it.
type Footprint struct {
	*memory.Footprint
	amounts amounts
	// least is what every stage needs beside its layers, widest the need of the neediest layer as a stage of its own.
	least, widest int64
	Layers        int
	serves        bool // has what a step of decoding reads of the layers
	mu            sync.Mutex
	// runs caches the length of the longest run of layers by what a device offers.
	runs map[int64]int
	// asked is how many stages of at most some bytes there are, as far as that was asked for last.
	asked struct {
		most   int64
		stages int
	}
	// reads caches the cuts by what stages read, by the number of stages.
	reads [][]int
}

// amounts are what a device needs for layers first to end-1, in the terms of its offer.
type amounts interface {
	Need(first, end int) int64
}

// Bytes returns what a device needs for layers first to end-1.
func (f *Footprint) Bytes(first, end int) int64 { return f.amounts.Need(first, end) }

// PerDevice returns the memory of layers first to end-1 by component.
func (f *Footprint) PerDevice(first, end int) v1alpha1.MemoryUse {
	u := f.Use(first, end)
	return v1alpha1.MemoryUse{
		WeightsBytes:     u.Weights,
		KVCacheBytes:     u.Cache,
		ActivationsBytes: u.Activations + u.Gradients + u.Optimizer,
		OverheadBytes:    u.Engine + u.Communication,
		TotalBytes:       u.Total(),
	}
}

// MayHold is a necessary condition for a split: the offers of all devices sum to at least what all stages need together.
func (f *Footprint) MayHold(caps []int64) bool {
	if len(caps) == 1 {
		return f.Bytes(0, f.Layers) <= caps[0]
	}
	need := f.Bytes(0, f.Layers) - f.least
	for _, c := range caps {
		need -= max(0, c-f.least)
	}
	return need <= 0
}

// fewest returns a number of stages below which no cut fits devices with an offer; above the number of layers where no
// cut does.
func (f *Footprint) fewest(offer int64) int {
	switch whole := f.Bytes(0, f.Layers); {
	case whole <= offer:
		return 1
	case f.widest > offer || offer <= f.least:
		return f.Layers + 1
	default:
		return max(2, int((whole-f.least+offer-f.least-1)/(offer-f.least)))
	}
}

// enoughToTrain is the first number of stages from some on at which devices that offer so much may hold all of them, by
// the footprint of a single stage: each further stage keeps one more micro-batch in flight, up to those of a step.
func (f *Footprint) enoughToTrain(stages, last int, offer int64, passes int) int {
	whole, kept := f.Bytes(0, f.Layers), f.KeptBytes()
	for stages = max(stages, f.fewest(offer)); stages <= last; stages++ {
		if whole+kept*int64(min(stages, passes)-1) <= offer*int64(stages) {
			return stages
		}
	}
	return last + 1
}

// evenly cuts the layers for equal devices that offer so much: so that the stage that reads most in a step of decoding
// reads as little as it can, or, where a stage of that cut does not fit, so that the stage that needs most needs as little
// as it can. It finds nothing where no cut fits.
func (f *Footprint) evenly(stages int, offer int64) []int {
	if stages == 1 {
		if f.Bytes(0, f.Layers) > offer {
			return nil
		}
		return []int{f.Layers}
	}
	if f.serves {
		if ends := f.evenReads(stages); ends != nil && f.fits(ends, offer) {
			return ends
		}
	}
	if f.stagesOf(offer) > stages {
		return nil
	}
	if ends := f.even(stages, f.Bytes); ends != nil && f.fits(ends, offer) {
		return ends
	}
	return nil
}

// evenReads returns the cut whose stage that reads most in a step of decoding reads as little as it can.
func (f *Footprint) evenReads(stages int) []int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if more := stages + 1 - len(f.reads); more > 0 {
		f.reads = append(f.reads, make([][]int, more)...)
	}
	if f.reads[stages] == nil {
		f.reads[stages] = f.even(stages, f.Reads)
	}
	return f.reads[stages]
}

// fits says whether each stage of a split needs at most some bytes.
func (f *Footprint) fits(ends []int, most int64) bool {
	first := 0
	for _, end := range ends {
		if f.Bytes(first, end) > most {
			return false
		}
		first = end
	}
	return true
}

// even cuts the layers so that the largest amount of a stage is as small as it can be. Of equal cuts it takes the one
// whose earlier stages are longest. It starts from what no cut can be below and goes on to the least amount at which the
// cut would be another one, so that it skips none.
func (f *Footprint) even(stages int, amount func(first, end int) int64) []int {
	if stages > f.Layers {
		return nil
	}
	ends := make([]int, stages)
	most := amount(0, f.Layers) / int64(stages)
	for {
		next, ok := f.cut(ends, most, amount)
		if ok {
			return ends
		}
		most = next
	}
}

// cut writes the ends of stages of at most some amount each, and says whether there are such; else the least amount at
// which the ends would be others.
func (f *Footprint) cut(ends []int, most int64, amount func(first, end int) int64) (next int64, ok bool) {
	first, last := 0, len(ends)-1
	next = math.MaxInt64
	for stage := range last {
		// A layer is left for each later stage.
		limit := f.Layers - (last - stage)
		end := furthest(first, limit, func(end int) bool { return amount(first, end) <= most })
		if end < limit {
			next = min(next, amount(first, end+1))
		}
		if end == first {
			return next, false
		}
		ends[stage], first = end, end
	}
	ends[last] = f.Layers
	rest := amount(first, f.Layers)
	return min(next, rest), rest <= most
}

// furthest is the last end after first at which may holds, which must hold below wherever it holds above; first where it
// holds nowhere.
func furthest(first, last int, may func(end int) bool) int {
	low, high := first, last
	for low < high {
		middle := (low + high + 1) / 2
		if may(middle) {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low
}

// Limits are the batch of one step: an engine's defaults, or what the request needs and no more.
type Limits struct{ Tokens, Sequences int64 }

// LimitsOn returns the limits of an engine on a device. Lean limits leave more room for weights and cache: the fewest
// tokens that an engine takes by default on any device, and only the sequences that are asked for.
func LimitsOn(of *engine.Memory, d memory.Device, asked int64, lean bool) Limits {
	defaults := memory.Limits(of, d, false)
	l := Limits{defaults.Tokens, defaults.Sequences}
	if lean {
		l.Tokens, l.Sequences = min(l.Tokens, engine.FewestTokens), min(l.Sequences, max(asked, leanSequences))
	}
	l.Sequences = max(l.Sequences, asked)
	return l
}

// leanSequences is the fewest sequences of lean limits.
const leanSequences = 8

// stagesOf returns how many stages of at most some bytes the layers make, each as long as it can be; above the number of
// layers where a single layer is too large.
func (f *Footprint) stagesOf(most int64) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.asked.stages > 0 && f.asked.most == most { // it is asked for again at once by those who found that there may be as few
		return f.asked.stages
	}
	f.asked.most, f.asked.stages = most, f.countStages(most)
	return f.asked.stages
}

func (f *Footprint) countStages(most int64) int {
	stages, length := 0, f.Layers
	for first := 0; first < f.Layers; first += length {
		may := func(end int) bool { return f.Bytes(first, end) <= most }
		// Most layers are alike, so that a stage is as long as the one before.
		if end := first + length; stages > 0 && end < f.Layers && may(end) && !may(end+1) {
			stages++
			continue
		}
		if length = furthest(first, f.Layers, may) - first; length == 0 {
			return f.Layers + 1
		}
		stages++
	}
	return stages
}

// HasRoom is a necessary condition for a split: the runs of layers that devices have room for are enough.
func (f *Footprint) HasRoom(caps []int64) bool { return f.Longest(caps) >= f.Layers }

// Longest returns how many layers some devices have room for at most, each for a run of them.
func (f *Footprint) Longest(caps []int64) int {
	room, last, longest := 0, int64(-1), 0
	for _, offer := range caps {
		if offer != last {
			last, longest = offer, f.longest(offer)
		}
		room += longest
	}
	return room
}

// longest returns how many consecutive layers fit a device with an offer at most.
func (f *Footprint) longest(offer int64) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	if known, ok := f.runs[offer]; ok {
		return known
	}
	longest := 0
	for first, end := 0, 0; end < f.Layers; {
		if f.Bytes(first, end+1) <= offer {
			end++
			longest = max(longest, end-first)
			continue
		}
		first++
		end = max(first, end)
	}
	if f.runs == nil {
		f.runs = map[int64]int{}
	}
	f.runs[offer] = longest
	return longest
}

// UseText names the components of a use of memory.
func UseText(u v1alpha1.MemoryUse) string {
	return "weights " + words.HumanBytes(u.WeightsBytes) + ", KV cache " + words.HumanBytes(u.KVCacheBytes) +
		", activations " + words.HumanBytes(u.ActivationsBytes) + ", overhead " + words.HumanBytes(u.OverheadBytes)
}

// Together returns what all devices of a pipeline need in sum, fixed parts included.
func (f *Footprint) Together(s Shape) int64 {
	return int64(s.Tensor) * (f.Bytes(0, f.Layers) + int64(s.Stages-1)*f.least)
}
