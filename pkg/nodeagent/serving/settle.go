package serving

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/rankwright/rankwright/internal/await"
)

const (
	// useInterval is the time between two questions to the kubelet while something has to be known, and lastUseInterval
	// while it does not answer; a kubelet answers at most 100 of all its clients a second.
	useInterval     = time.Second
	lastUseInterval = 10 * time.Second
	// kubeletSettles is how long after its start the kubelet may not know all its pods yet: what it does not list by then
	// counts as held.
	kubeletSettles = 30 * time.Second
)

// unsettled says that what is offered depends on what the kubelet says: it has not been asked yet, or offers are listed
// that go when they are free. The lock is held.
func (p *Plugin) unsettled() bool {
	if len(p.pools) == 0 {
		return false
	}
	if !p.ledger.known {
		return true
	}
	return slices.ContainsFunc(p.pools, func(pool resourcePool) bool {
		return slices.ContainsFunc(pool.Entries, func(e listing) bool { return e.Leaving })
	})
}

// watchUse asks the kubelet who holds what for as long as something depends on it, and waits in between.
func (p *Plugin) watchUse(ctx context.Context) {
	failures, idle := 0, 0
	for ctx.Err() == nil {
		if !p.asks() {
			failures, idle = 0, 0
			select {
			case <-p.wake:
			case <-ctx.Done():
			}
			continue
		}
		changed, err := p.readUse(ctx)
		idle++
		switch {
		case err != nil:
			failures++
			if failures == 1 {
				p.options.Log.Warn("the kubelet does not say which pod holds which device, so devices stay where they are", "error", err)
			}
		case changed:
			failures, idle = 0, 0
			p.options.Changed()
		default:
			failures = 0
		}
		await.Pause(ctx, p.options.Clock, askAgain(failures, idle), nil)
	}
}

// askAgain is the time to the next question, after the failures of the last ones and after idle ones that changed nothing.
func askAgain(failures, idle int) time.Duration {
	if idle > 60 {
		return lastUseInterval
	}
	return min(useInterval<<min(failures, 16), lastUseInterval)
}

func (p *Plugin) asks() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.status != nil && p.unsettled()
}

// readUse asks the kubelet once and offers what follows, and says whether another server or resource has a device then.
func (p *Plugin) readUse(ctx context.Context) (changed bool, err error) {
	at := p.options.Clock.Now()
	life, _ := p.folder.kubelet.Get()
	use, err := readUse(ctx, p.options.PodResources)
	if err != nil {
		return false, err
	}
	after, _ := p.folder.kubelet.Get()
	use.At = at
	use.Complete = life.there() && life.same(after) && at.Sub(life.since()) >= kubeletSettles
	p.mu.Lock()
	defer p.mu.Unlock()
	before := servicesOf(p.pools)
	p.ledger.read(use)
	p.offer()
	return !maps.Equal(before, servicesOf(p.pools)), nil
}
