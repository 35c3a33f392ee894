package memory

import (
	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
)

// quick is what Need adds to the sums over layers, computed once because a search asks for thousands of runs.
type quick struct {
	sequences int64
	rule      engine.Rule
	// Indexed by the stage: between the ends, first, last, only. Tables are the embedding and head tables among the weights.
	weights, activations, tables [4]int64
}

// prepare computes what follows from layout and batches beside the sums.
func (f *Footprint) prepare() {
	if f.setup.Layout.ranks() > 1 {
		f.communication = bounded(f.counter.constants.CommunicationBytes)
	} else {
		f.communication = 0
	}
	if f.setup.Inference == nil {
		return
	}
	f.activations = activationsOf(&f.setup, f.counter)
	f.quick.sequences, f.quick.rule = f.sequences(), f.counter.engine.Rule
	for at := range f.quick.activations {
		f.quick.activations[at] = f.activations.stage(at&1 != 0, at&2 != 0)
	}
}

// prepareEnds computes what the ends of the model add to a stage.
func (f *Footprint) prepareEnds() {
	for at := range f.quick.weights {
		f.quick.weights[at], f.quick.tables[at] = 0, 0
		for _, e := range f.ends(at&1 != 0, at&2 != 0) {
			f.quick.weights[at] += e.held
			if e.table {
				f.quick.tables[at]++
			}
		}
	}
}

// at returns the index of a run of layers in quick.
func (f *Footprint) at(first, end int) int {
	at := 0
	if first == 0 {
		at = 1
	}
	if end == f.layers {
		at |= 2
	}
	return at
}

// Need returns what layers first to end-1 take of a device's Offer: they fit where it is not more. Need and Offer give
// the verdict of Room as two numbers, so that devices can be sorted by their offers and compared with many runs of
// layers.
func (f *Footprint) Need(first, end int) int64 {
	if f.setup.Inference == nil {
		return bounded(f.Use(first, end).Total())
	}
	at := f.at(first, end)
	weights := f.weights.of(first, end) + f.experts.of(first, end) + f.quick.weights[at] + f.further(first, end)
	cache := bounded(f.held(f.quick.sequences, first, end) + f.step.of(first, end))
	running := f.quick.activations[at] + f.engine + f.communication
	switch f.quick.rule {
	case engine.StaticOfTotal:
		if running > f.beside {
			return maxBytes
		}
		return bounded(max(weights+cache, f.Loading(first, end)-f.beside))
	case engine.OfFree:
		return bounded(weights + running + part(cache, 1000, f.setup.Inference.Utilization) + 1)
	default:
		return bounded(weights + running + cache)
	}
}

// Held returns what all stages of an instance hold together on a rank whatever the limits of a step: weights and cache.
func (f *Footprint) Held() int64 {
	const only = 3
	all := f.layers
	return bounded(f.weights.of(0, all) + f.experts.of(0, all) + f.quick.weights[only] + f.further(0, all) + f.held(f.quick.sequences, 0, all))
}

// Widest returns the largest need of any layer as a stage of its own. Of layers with equal memory only the first and the
// last of the model are tried, since they have the ends as well.
func (f *Footprint) Widest() int64 {
	widest := f.Need(f.layers-1, f.layers)
	for _, of := range f.counter.forms {
		widest = max(widest, f.Need(of.layer, of.layer+1))
	}
	return widest
}

// Reads returns the bytes that a step of decoding reads in layers first to end-1: weights, cache and head, but not the
// embedding, of which it looks up a few rows.
func (f *Footprint) Reads(first, end int) int64 {
	sum := f.weights.of(first, end) + f.experts.of(first, end)
	if end == f.layers {
		sum += f.head
	}
	one := &f.cache
	if f.inference.Mean > 0 {
		one = &f.mean
	}
	return bounded(sum + times(f.quick.sequences, one.of(first, end)))
}

// Offer returns what a device has for the layers of an engine that takes a part of it, in permille; 0 takes the engine's
// default. Under SGLang's rule a device of which others hold more than a 100th offers nothing, since its part for
// activations is gone. What is held back of the device is not offered.
func Offer(name v1alpha1.Engine, training bool, permille int64, d Device) int64 {
	return max(0, offer(name, training, permille, d)-d.HeldBackBytes)
}

func offer(name v1alpha1.Engine, training bool, permille int64, d Device) int64 {
	free := bounded(d.visible() - d.OthersBytes - contextBytes)
	e, err := engine.Find(name)
	if err != nil || training {
		return free
	}
	fill(&permille, e.Memory.Permille)
	limit := part(d.visible(), permille, 1000)
	switch e.Memory.Rule {
	case engine.OfFree:
		return free
	case engine.StaticOfTotal:
		if d.OthersBytes > d.visible()/100 {
			return 0
		}
		return limit
	default:
		if permille < 1000 && limit > free {
			return 0
		}
		return min(limit, free)
	}
}

// besideStatic returns what a device has for activations and the engine beside the part for weights and cache, less the
// 100th that others may hold.
func besideStatic(d Device, permille int64) int64 {
	if d.visible() == 0 {
		return maxBytes
	}
	return d.visible() - d.visible()/100 - contextBytes - part(d.visible(), permille, 1000)
}

// Limits returns the default batch of an engine on a device, or offline as a library: the most tokens and the most sequences of a step.
func Limits(of *engine.Memory, d Device, offline bool) engine.Batch {
	return of.Limits(d.values(), offline)
}

// Least returns what every stage needs beside its layers, under the rules that count it.
func (f *Footprint) Least() int64 {
	if f.setup.Inference == nil || f.counter.engine.Rule == engine.StaticOfTotal {
		return 0
	}
	return bounded(f.engine + f.communication + f.activations.forward())
}
