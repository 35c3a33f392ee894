package shape

import (
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

	mu      sync.Mutex
	batches map[batchKey]*batch
	devices map[cost.Device]*rated
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

// rated is the known times of shapes on a kind of device.
type rated struct {
	device    cost.Device
	estimator *cost.Estimator
	times     map[timesKey]cost.Times
}

// timesKey is what the times of a shape on a device depend on.
type timesKey struct {
	cost.Strategy
	tokens int64  // of a step at most
	ends   string // of the stages; empty for one stage and for stages that are taken as equal
	apart  bool   // stages are on several islands
}

func newFigures(of *knownModel, load loadKey) *figures {
	f := &figures{
		of: of, load: load, profile: cost.NewProfile(of.model, cost.Stored(of.model, load.weights, load.cache)),
		batches: map[batchKey]*batch{}, devices: map[cost.Device]*rated{},
	}
	setup := memory.Setup{Model: of.model, Engine: load.engine, Weights: load.weights, KV: load.cache}
	if load.length > 0 {
		setup.Inference = &memory.Inference{MaxModelLen: load.length, Sequences: load.sequences}
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

// counted returns a shape's footprint, nil where it was not counted yet.
func (f *figures) counted(in *batch, s Shape) *Footprint {
	f.mu.Lock()
	defer f.mu.Unlock()
	return in.footprints[s]
}
