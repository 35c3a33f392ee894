package ledger

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// settling are the plans whose commits this process is settling, each once at a time. The zero value is ready.
type settling struct {
	mu   sync.Mutex
	busy map[types.UID]chan struct{}
}

// lock waits until nobody else settles the commit of a plan, and returns what lets others do so.
func (s *settling) lock(plan types.UID) (unlock func()) {
	for {
		s.mu.Lock()
		ended, is := s.busy[plan]
		if !is {
			break
		}
		s.mu.Unlock()
		<-ended
	}
	defer s.mu.Unlock()
	if s.busy == nil {
		s.busy = map[types.UID]chan struct{}{}
	}
	ended := make(chan struct{})
	s.busy[plan] = ended
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.busy, plan)
		close(ended)
	}
}
