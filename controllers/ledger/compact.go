package ledger

import (
	"context"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Vacated takes a value when plans are known to be gone that still count as taken, unless it holds one already.
func (l *Ledger) Vacated() <-chan struct{} { return l.memory.signal() }

// Compact writes the ledger where plans are gone that still count as taken, so that the next commit need not. What is settled leaves the record
// with that, and so do placements that are gone. It reads nothing: what this process does not remember counts from when it is listed.
func (l *Ledger) Compact(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	v := l.memory.view()
	if v == nil || len(v.left) == 0 {
		return nil
	}
	return l.write(ctx, v)
}

// Ended has the ledger learn that a placement is gone, whose UID never comes back: its number leaves the record with the next write.
func (l *Ledger) Ended(placement *v1alpha1.ModelPlacement) { l.memory.end(string(placement.UID)) }
