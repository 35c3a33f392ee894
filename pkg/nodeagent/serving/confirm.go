package serving

import (
	"context"
	"sync"
	"time"

	"github.com/rankwright/rankwright/internal/await"
)

const (
	// firstConfirm is the time from a list to the question whether the kubelet has it; it doubles with each answer that it
	// does not, and after confirmTries of them, 3 s in all, the kubelet counts as having lost the registration.
	firstConfirm = 200 * time.Millisecond
	confirmTries = 4
	// confirmAgain is the time to the next question after one that was answered well, or not at all.
	confirmAgain = time.Minute
)

// confirmed confirms in the background, until stop is called. lost is closed where the kubelet lost the registration.
func (s *session) confirmed(ctx context.Context) (lost <-chan struct{}, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	gone := make(chan struct{})
	var running sync.WaitGroup
	running.Go(func() {
		if s.confirm(ctx) {
			close(gone)
		}
	})
	return gone, func() { cancel(); running.Wait() }
}

// confirm returns when the kubelet does not have what it was told by a stream that it keeps open, or when the context ends
// (lost is false). That comes of a race in the kubelet: when the stream of a former agent ends while another registers, it
// marks the new registration as stopped and all its devices as unhealthy, and closes no connection
// (pkg/kubelet/cm/devicemanager/plugin/v1beta1/handler.go, runClient, and manager.go, PluginDisconnected, of Kubernetes 1.36).
func (s *session) confirm(ctx context.Context) (lost bool) {
	missed, wait := 0, firstConfirm
	for await.Pause(ctx, s.plugin.options.Clock, wait, nil) {
		before, _ := s.streams.Get()
		use, err := readUse(ctx, s.plugin.options.PodResources)
		after, _ := s.streams.Get()
		switch {
		case err != nil:
			missed, wait = 0, confirmAgain
		case before.sent == nil || before.sent != after.sent:
			missed, wait = 0, firstConfirm
		case before.sent.pool.countedBy(use.Counted):
			missed, wait = 0, confirmAgain
		case missed+1 == confirmTries:
			return true
		default:
			missed++
			wait = firstConfirm << missed
		}
	}
	return false
}

// countedBy says whether the kubelet counts exactly the healthy offers of the pool.
func (p resourcePool) countedBy(counted map[Offer]bool) bool {
	missing := map[Offer]bool{}
	for _, entry := range p.Entries {
		if entry.Healthy {
			missing[Offer{p.Resource, entry.ID}] = true
		}
	}
	for offer := range counted {
		if offer.Resource == p.Resource && !missing[offer] {
			return false
		}
		delete(missing, offer)
	}
	return len(missing) == 0
}

// untilChanged is a context that ends with another life of the kubelet, too.
func untilChanged(ctx context.Context, changed <-chan struct{}) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		select {
		case <-changed:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}
