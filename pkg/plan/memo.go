package plan

import (
	"reflect"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/model"
)

// memo keeps the figures of shapes from plan to plan: memory and times, which follow from the model, the load, the engine
// and the kind of device, and not from what is free. It knows all of these by their content, so that no change of them can
// make it wrong. An index and its clones share one, and several plans may use it at once.
type memo struct {
	mu       sync.Mutex
	subjects []*subject
	held     atomic.Int64 // figures in all subjects
}

// subject is a model with the figures of its loads.
type subject struct {
	model *model.Model // a copy, since the caller's may change
	loads map[loadKey]*figures
}

// loadKey is what figures of a model depend on beside shapes and devices.
type loadKey struct {
	engine v1alpha1.Engine
	// Of inference: the context, the sequences at once, and the tokens of a typical request.
	length, sequences, input, output int64
	training                         v1alpha1.TrainingWorkload
}

// mostFigures bounds what is kept: a footprint of 100 layers takes 2 to 5 KB. What is over it is forgotten as a whole when
// the next attempt begins.
const mostFigures = 4096

// figures are those of a model under a load.
func (m *memo) figures(of *model.Model, key loadKey) *figures {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.held.Load() > mostFigures {
		m.subjects = nil
		m.held.Store(0)
	}
	at := slices.IndexFunc(m.subjects, func(s *subject) bool { return reflect.DeepEqual(s.model, of) })
	if at < 0 {
		at = len(m.subjects)
		m.subjects = append(m.subjects, &subject{model: copyOf(of), loads: map[loadKey]*figures{}})
	}
	s := m.subjects[at]
	f, ok := s.loads[key]
	if !ok {
		f = newFigures(m, s.model, key)
		s.loads[key] = f
		m.held.Add(1)
	}
	return f
}

// copyOf is a model that no change of another one changes. How a checkpoint stores its weights is shared: nothing changes
// it once the model is made.
func copyOf(m *model.Model) *model.Model {
	own := *m
	own.Architecture = *m.Architecture.DeepCopy()
	own.Assumptions = slices.Clone(m.Assumptions)
	return &own
}

// loadKey is that of the task.
func (t *task) loadKey() loadKey {
	if w := t.workload.Training; w != nil {
		return loadKey{engine: t.engine, training: *w}
	}
	in := t.workload.Inference
	return loadKey{
		engine: t.engine, length: int64(in.MaxModelLen), sequences: int64(max(1, in.MaxSequences)), input: t.input(), output: t.output(),
	}
}
