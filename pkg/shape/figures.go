package shape

import (
	"encoding/binary"
	"sync"

	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/memory"
)

// figures are what has been computed for a model under a load: the memory of shapes, and how fast they are. Values are
// computed outside the lock, so two plans may compute the same one.
type figures struct {
	of      *knownModel
	load    loadKey
	counter *memory.Counter
	refused error         // why there is no counter
	profile *cost.Profile // the model's operators
	draft   *cost.Profile // of what drafts tokens for it; nil where nothing does

	mu      sync.Mutex
	batches map[batchKey]*batch
	devices map[ratedKey]*rated
	cuts    map[string]*cost.Cut
}

// batchKey is what a footprint depends on beside the shape.
type batchKey struct {
	Limits
	// device is empty where only the limits depend on it.
	device memory.Device
}

// batch is the known footprints by shape, under the same limits of a step.
type batch struct {
	batchKey
	footprints map[Shape]*Footprint
}

// ratedKey is what times of shapes depend on beside them: the device, and what was measured at the site.
type ratedKey struct {
	cost.Device
	site *cost.Site
}

// rated is the known times of shapes on a kind of device.
type rated struct {
	ratedKey
	estimator *cost.Estimator
	times     map[timesKey]cost.Times
}

// timesKey is what the times of a shape on a device depend on: small, since thousands are kept, and plain memory, which maps
// hash at once.
type timesKey struct {
	tensor, stages, data, expert, decode, islands int32

	tokens   int64     // of a step at most
	cut      *cost.Cut // nil for one stage and for stages that are taken as equal
	transfer uint64    // bits of Query.Transfer
	again    uint64    // bits of Workload.Again and Returned, with which its Concurrency goes
}

func newFigures(of *knownModel, load loadKey) *figures {
	f := &figures{
		of: of, load: load,
		batches: map[batchKey]*batch{}, devices: map[ratedKey]*rated{},
	}
	f.profile, f.draft = load.serving.profiles(of.model, &load)
	setup := memory.Setup{Model: of.model, Engine: load.engine, Weights: load.weights, KV: load.cache}
	if load.length > 0 {
		setup.Inference = &memory.Inference{MaxModelLen: load.length, Sequences: load.sequences, Mean: load.mean, Deviation: load.deviation}
		if f.refused = load.serving.setup(&setup); f.refused != nil {
			return f
		}
	} else {
		setup.Training = &f.load.training
	}
	f.counter, f.refused = memory.NewCounter(setup)
	return f
}

// recall returns the figure of a key in one of the maps, and computes it where it is not there.
func recall[K comparable, V any](f *figures, known map[K]V, key K, compute func() V) V {
	f.mu.Lock()
	v, ok := known[key]
	f.mu.Unlock()
	if ok {
		return v
	}
	v = compute()
	f.mu.Lock()
	defer f.mu.Unlock()
	known[key] = v
	f.of.memo.held.Add(1)
	return v
}

// batch returns the footprints of a key.
func (f *figures) batch(key batchKey) *batch {
	return recall(f, f.batches, key, func() *batch { return &batch{key, map[Shape]*Footprint{}} })
}

// cut returns the cut at some ends, the same one for equal ends.
func (f *figures) cut(ends []int) *cost.Cut {
	key := make([]byte, 0, 64)
	for _, end := range ends {
		key = binary.BigEndian.AppendUint16(key, uint16(end))
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	made, ok := f.cuts[string(key)]
	if !ok {
		made = f.profile.Cut(ends)
		if f.cuts == nil {
			f.cuts = map[string]*cost.Cut{}
		}
		f.cuts[string(key)] = made
	}
	return made
}

// counted returns a shape's footprint, nil where it was not counted yet.
func (f *figures) counted(in *batch, s Shape) *Footprint {
	f.mu.Lock()
	defer f.mu.Unlock()
	return in.footprints[s]
}
