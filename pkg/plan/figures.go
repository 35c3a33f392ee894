package plan

import (
	"sync"

	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/memory"
)

// figures are what is known of a model under a load: the memory of shapes, and how fast they are. What is asked for first
// is computed outside the lock, so that two plans may compute the same.
type figures struct {
	of      *subject
	load    loadKey
	counter *memory.Counter
	refused error         // why there is no counter
	profile *cost.Profile // the model's operators

	mu      sync.Mutex
	batches map[batchKey]*batch
	devices map[cost.Device]*rated
}

// batchKey is what footprints depend on beside the shape.
type batchKey struct {
	limits
	// device is empty where nothing but the limits depends on it.
	device memory.Device
}

// batch is the footprints of shapes in some limits of a step.
type batch struct {
	batchKey
	prints map[shape]*footprint
}

// rated is how fast shapes are on a kind of device.
type rated struct {
	device    cost.Device
	estimator *cost.Estimator
	times     map[timesKey]cost.Times
}

// timesKey is what tells times apart.
type timesKey struct {
	cost.Strategy
	tokens int64 // of a step at most
}

func newFigures(of *subject, load loadKey) *figures {
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

// recall is the figure of a key in one of the maps, which is computed where it is not known.
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

// batch is that of a key.
func (f *figures) batch(key batchKey) *batch {
	return recall(f, f.batches, key, func() *batch { return &batch{key, map[shape]*footprint{}} })
}

// counted is a footprint if it is known.
func (f *figures) counted(in *batch, s shape) *footprint {
	f.mu.Lock()
	defer f.mu.Unlock()
	return in.prints[s]
}
