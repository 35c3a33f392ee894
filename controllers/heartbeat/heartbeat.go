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
type Monitor struct {
	// Reader reads from the API server: Leases are listed, never watched.
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
}

// Look lists the Leases and returns whether the set of silent nodes changed.
func (m *Monitor) Look(ctx context.Context) (bool, error) {
	var leases coordinationv1.LeaseList
	if err := m.Reader.List(ctx, &leases, client.InNamespace(m.Namespace)); err != nil {
		return false, fmt.Errorf("list leases of node agents in %s: %w", m.Namespace, err)
	}
	return m.judge(leases.Items), nil
}

// judge takes the Leases as they are now and returns whether the set of silent nodes changed.
func (m *Monitor) judge(leases []coordinationv1.Lease) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.Now()
	beats, dead := make(map[string]beat, len(leases)), map[string]bool{}
	for i := range leases {
		lease := &leases[i]
		b := m.beats[lease.Name]
		if b.version != lease.ResourceVersion {
			b = beat{version: lease.ResourceVersion, seen: now}
		}
		beats[lease.Name] = b
		if d := lease.Spec.LeaseDurationSeconds; d != nil && now.Sub(b.seen) > time.Duration(*d)*time.Second {
			dead[lease.Name] = true
		}
	}
	changed := !maps.Equal(m.dead, dead)
	m.beats, m.dead = beats, dead
	return changed
}

// Silent returns the nodes whose Lease was not renewed within its duration since this process first looked. A node
// without a Lease is not judged: it may have no agent of this version.
func (m *Monitor) Silent() map[string]bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.dead)
}
