package shape

import (
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/model"
)

// Cache keeps the figures of shapes from plan to plan: memory and times, which follow from the model, the load, the engine
// and the kind of device, and not from what is free. Its keys are contents, not identities, so that no change of a model
// or load can make it wrong. An index and its clones share one, and several plans may use it at once.
type Cache struct {
	mu       sync.Mutex
	subjects []*knownModel
	held     atomic.Int64 // figures in all subjects
}

// cacheOf returns the memo that an index shares with its clones.
func cacheOf(c *fleet.Cluster) *Cache {
	return fleet.Shared[Cache](c)
}

// knownModel is a model with the figures of each of its loads.
type knownModel struct {
	memo  *Cache
	model *model.Model // a copy, since the caller's may change
	// splits are the tensor degrees that the model allows, rising.
	splits []int

	mu      sync.Mutex
	loads   map[loadKey]*figures
	cuts    map[cutKey]bool
	weights map[v1alpha1.Precision]int64 // bytes; to add them up over all layers takes longer than most questions to the planner
}

// cutKey is a format of weights and a tensor degree.
type cutKey struct {
	format v1alpha1.Precision
	tensor int
}

// loadKey is what the figures of a model depend on beside shape and device.
type loadKey struct {
	engine         v1alpha1.Engine
	weights, cache v1alpha1.Precision
	// In inference: the context, the sequences at once, and the tokens of a typical request.
	length, sequences, input, output int64
	// Of a running request, where the cache holds requests as they run.
	mean, deviation int64
	serving         serving
	training        v1alpha1.TrainingWorkload
}

// mostFigures bounds the number of figures that are kept; a footprint of 100 layers takes 2 to 5 KB. Where the bound is
// passed, all are dropped when the next plan begins.
const mostFigures = 4096

// subject returns the entry of a model, which it adds where there is none of equal content.
func (m *Cache) subject(of *model.Model) *knownModel {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held.Load() > mostFigures {
		m.subjects = nil
		m.held.Store(0)
	}
	for _, s := range m.subjects {
		if reflect.DeepEqual(s.model, of) {
			return s
		}
	}
	s := &knownModel{memo: m, model: copyOf(of), splits: engine.TensorDegrees(&of.Architecture, maxTensor), loads: map[loadKey]*figures{}, cuts: map[cutKey]bool{}, weights: map[v1alpha1.Precision]int64{}}
	m.subjects = append(m.subjects, s)
	m.held.Add(1)
	return s
}

// figures returns the figures of the model under a load.
func (s *knownModel) figures(key loadKey) *figures {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, ok := s.loads[key]
	if !ok {
		f = newFigures(s, key)
		s.loads[key] = f
		s.memo.held.Add(1)
	}
	return f
}

// cutsBlocks says whether tensor ranks cut through a block of weights that share a scale.
func (s *knownModel) cutsBlocks(key cutKey) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	cuts, ok := s.cuts[key]
	if !ok {
		cuts = s.model.CutsBlocks(key.format, key.tensor)
		s.cuts[key] = cuts
	}
	return cuts
}

// weightBytes returns the bytes of the weights in a format.
func (s *knownModel) weightBytes(format v1alpha1.Precision) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	bytes, ok := s.weights[format]
	if !ok {
		bytes = s.model.WeightBytes(format)
		s.weights[format] = bytes
	}
	return bytes
}

// copyOf returns a copy of a model that later changes of the original do not reach. How the checkpoint stores its weights
// is shared, since it never changes.
func copyOf(m *model.Model) *model.Model {
	own := *m
	own.Architecture = *m.Architecture.DeepCopy()
	own.Assumptions = slices.Clone(m.Assumptions)
	return &own
}

// loadKey returns the key of the problem's load in the formats of a step.
func (t *Problem) loadKey(s Format) loadKey {
	key := loadKey{engine: t.Engine.Name, weights: s.Weights, cache: s.Cache}
	if w := t.Workload.Training; w != nil {
		key.training = *w
		return key
	}
	in := t.Workload.Inference
	key.length, key.sequences, key.input, key.output = int64(in.MaxModelLen), int64(max(1, in.MaxSequences)), t.Input(), t.Output()
	key.mean, key.deviation = t.running()
	key.serving = t.served
	return key
}
