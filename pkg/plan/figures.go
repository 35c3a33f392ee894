package plan

import (
	"sync"

	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/memory"
)

// figures are what is known of a model under a load: the memory of shapes, and how fast they are. What is asked for first
// is computed outside the lock, so that two plans may compute the same.
type figures struct {
	of   *subject
	load loadKey

	mu      sync.Mutex
	prints  map[printKey]*footprint
	times   map[timesKey]cost.Times
	tuned   map[string]*cost.Estimator // by architecture
	profile func() *cost.Profile       // the model's operators
}

// printKey is what tells footprints apart. That of inference is the same for all pipelines of two stages and more.
type printKey struct {
	shape
	limits
	// device is empty where nothing but the limits depends on it.
	device memory.Device
}

// timesKey is what tells times apart.
type timesKey struct {
	device cost.Device
	cost.Strategy
	tokens int64 // of a step at most
}

func newFigures(of *subject, load loadKey) *figures {
	return &figures{
		of: of, load: load, prints: map[printKey]*footprint{}, times: map[timesKey]cost.Times{}, tuned: map[string]*cost.Estimator{},
		profile: sync.OnceValue(func() *cost.Profile {
			return cost.NewProfile(of.model, cost.Stored(of.model, load.weights, load.cache))
		}),
	}
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

// counted is a footprint if it is known.
func (f *figures) counted(key printKey) *footprint {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.prints[key]
}
