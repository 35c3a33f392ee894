// Package heartbeat finds the nodes whose agents fell silent, by their Leases and the operator's own clock.
package heartbeat

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Monitor looks at the Leases of node agents. A Lease is named as its node.
//
// Leases are watched, and listed only before it is said that an agent fell silent: a watch that brings nothing is no evidence.
type Monitor struct {
	// Reader reads from the API server.
	Reader client.Reader
	// Namespace of the agents.
	Namespace string
	// Now is the clock. Times in a Lease come from another machine's and are only compared with each other.
	Now func() time.Time

	mu    sync.Mutex
	beats map[string]beat
	dead  map[string]bool
}

// beat is the last change that was seen of a Lease.
type beat struct {
	version string
	seen    time.Time
	// lasts is how long the Lease holds; 0 where it does not say.
	lasts time.Duration
}

// Look returns whether the set of silent nodes changed since it was last asked for.
func (m *Monitor) Look(ctx context.Context) (bool, error) {
	if m.doubts() {
		var leases coordinationv1.LeaseList
		if err := m.Reader.List(ctx, &leases, client.InNamespace(m.Namespace)); err != nil {
			return false, fmt.Errorf("list leases of node agents in %s: %w", m.Namespace, err)
		}
		all := make([]*coordinationv1.Lease, len(leases.Items))
		for i := range leases.Items {
			all[i] = &leases.Items[i]
		}
		m.replace(all)
	}
	return m.judge(), nil
}

// doubts says whether a node would be silent by what is known that was not before.
func (m *Monitor) doubts() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for node := range m.overdue() {
		if !m.dead[node] {
			return true
		}
	}
	return false
}

// judge takes those for silent whose Leases ran out, and returns whether that changed something.
func (m *Monitor) judge() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	dead := m.overdue()
	changed := !maps.Equal(m.dead, dead)
	m.dead = dead
	return changed
}

// overdue are the nodes whose Leases ran out. It must be called with the lock held.
func (m *Monitor) overdue() map[string]bool {
	now, nodes := m.Now(), map[string]bool{}
	for node, b := range m.beats {
		if b.lasts > 0 && now.Sub(b.seen) > b.lasts {
			nodes[node] = true
		}
	}
	return nodes
}

// replace takes the Leases that there are.
func (m *Monitor) replace(leases []*coordinationv1.Lease) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before := m.beats
	m.beats = make(map[string]beat, len(leases))
	for _, lease := range leases {
		m.beats[lease.Name] = before[lease.Name].next(lease, m.Now())
	}
}

// set takes one Lease.
func (m *Monitor) set(lease *coordinationv1.Lease) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.beats == nil {
		m.beats = map[string]beat{}
	}
	m.beats[lease.Name] = m.beats[lease.Name].next(lease, m.Now())
}

// remove forgets a Lease.
func (m *Monitor) remove(node string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.beats, node)
}

// next is what is known of a Lease that was seen.
func (b beat) next(lease *coordinationv1.Lease, now time.Time) beat {
	if b.version == lease.ResourceVersion {
		return b
	}
	next := beat{version: lease.ResourceVersion, seen: now}
	if seconds := lease.Spec.LeaseDurationSeconds; seconds != nil {
		next.lasts = time.Duration(*seconds) * time.Second
	}
	return next
}

// Silent returns the nodes whose Lease was not renewed within its duration since this process first looked. A node
// without a Lease is not judged: it may have no agent of this version.
func (m *Monitor) Silent() map[string]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.dead)
}
