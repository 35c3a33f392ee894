package page

import (
	"sync"

	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/holding"
)

// Scene is a state with all that is shown of it. Before anything is known, there is no snapshot.
type Scene struct {
	State    *holding.State
	Snapshot *fleet.Snapshot

	version int64
	parts   Parts
}

// Stage has the scene that is shown now, for those who watch.
type Stage struct {
	Painter Painter

	mu      sync.Mutex
	scene   *Scene
	changed chan struct{} // closed when there is another scene
}

// NewStage returns a stage that shows nothing yet.
func NewStage(source Source) *Stage {
	return &Stage{Painter: Painter{Source: source}, changed: make(chan struct{})}
}

// Show shows another state, and since when it is not kept up to date. It is called by one at a time, and nothing of the state may change afterwards.
func (s *Stage) Show(state *holding.State, outage *Outage) error {
	parts, snapshot, err := s.Painter.Paint(state, outage)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	next := &Scene{State: state, Snapshot: snapshot, parts: parts, version: 1}
	if s.scene != nil {
		next.version = s.scene.version + 1
	}
	s.scene = next
	close(s.changed)
	s.changed = make(chan struct{})
	return nil
}

// Now is the scene that is shown, nil before the first, and what is closed when there is another one.
func (s *Stage) Now() (*Scene, <-chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.scene, s.changed
}
