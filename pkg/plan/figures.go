package plan

import (
	"sync"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/memory"
	"github.com/rankwright/rankwright/pkg/model"
)

// figures are what is known of a model under a load: the memory of shapes, and how fast they are. What is asked for first is
// computed outside the lock, so that two plans may compute the same.
type figures struct {
	memo  *memo
	model *model.Model
	load  loadKey

	mu       sync.Mutex
	prints   map[printKey]*footprint
	profiles map[formatKey]*cost.Profile
	tuned    map[string]*cost.Estimator // by architecture
	times    map[timesKey]cost.Times
}

// formatKey is the formats of weights and cache.
type formatKey struct{ weights, cache v1alpha1.Precision }

// printKey is what tells footprints apart. That of inference is the same for all pipelines of two stages and more.
type printKey struct {
	device memory.Device
	format formatKey
	lean   bool
	shape
}

// timesKey is what tells times apart.
type timesKey struct {
	device cost.Device
	format formatKey
	cost.Strategy
	tokens int64 // of a step at most
}

func newFigures(m *memo, of *model.Model, load loadKey) *figures {
	return &figures{
		memo: m, model: of, load: load, prints: map[printKey]*footprint{}, profiles: map[formatKey]*cost.Profile{},
		tuned: map[string]*cost.Estimator{}, times: map[timesKey]cost.Times{},
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
	f.memo.held.Add(1)
	return v
}

// counted is a footprint if it is known.
func (f *figures) counted(key printKey) *footprint {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.prints[key]
}

// profile is the model's operators in some precisions.
func (f *figures) profile(format formatKey) *cost.Profile {
	return recall(f, f.profiles, format, func() *cost.Profile {
		return cost.NewProfile(f.model, cost.Stored(f.model, format.weights, format.cache))
	})
}
