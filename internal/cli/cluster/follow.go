package cluster

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/holding"
)

// Follow watches kinds and shows what they are: at first, after each change, when an agent falls silent, and when the API server is lost or found again; but not
// before a period is over. Where the API server is lost before everything was listed, there is nothing to show but that. It ends with the context, which is no error, or with an error of show.
func (c *Cluster) Follow(ctx context.Context, streams term.Streams, period time.Duration, names []string, show func(*Objects) error) error {
	f := &following{
		Cluster: c, later: streams.Later(), now: streams.Clock(), kinds: make([]*followed, len(names)), pulse: pulse{heard: streams.Clock()()},
		changed: make(chan struct{}, 1), renewed: make(chan struct{}, 1),
	}
	defer f.running.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for at, name := range names {
		within, hidden, err := c.probe(ctx, name)
		if err != nil {
			return c.explained(name, err)
		}
		f.take(ctx, f.newFollowed(at, name, within, hidden))
	}
	f.running.Go(func() { f.beat(ctx) })
	return f.show(ctx, period, show)
}

// following is what goes on while kinds are followed.
type following struct {
	*Cluster

	later   func(time.Duration) <-chan time.Time
	now     func() time.Time
	running sync.WaitGroup
	// changed says that there is something else to show, renewed that Leases of agents were renewed, which often shows nothing new.
	changed, renewed chan struct{}

	mu    sync.Mutex
	kinds []*followed
	pulse
}

// show shows what there is until the context ends.
func (f *following) show(ctx context.Context, period time.Duration, show func(*Objects) error) error {
	var shown *Objects
	var due <-chan time.Time
	for {
		anything := false
		select {
		case <-ctx.Done():
			return nil
		case <-f.changed:
			anything = true
		case <-f.renewed:
		case <-due:
		}
		next, until, err := f.next(shown, anything)
		if err != nil {
			return err
		}
		if next == nil {
			if outage := f.awaiting(); outage != nil {
				if err := show(&Objects{Outage: outage}); err != nil {
					return err
				}
			}
			continue
		}
		if due = nil; until > 0 {
			due = f.later(until)
		}
		if next != shown {
			if err := show(next); err != nil {
				return err
			}
			shown = next
		}
		select {
		case <-ctx.Done():
			return nil
		case <-f.later(period):
		}
	}
}

// next is what to show after what was shown, which it is itself where there is nothing else, and how long it is until an agent may fall silent. Without anything
// changed there are Leases to look at, and nothing else.
func (f *following) next(shown *Objects, anything bool) (*Objects, time.Duration, error) {
	anything = anything || shown == nil
	known, complete, err := f.objects(anything)
	switch {
	case err != nil:
		return nil, 0, err
	case shown == nil && !complete:
		return nil, 0, nil
	}
	now := f.clock.Now()
	quiet, until := silent(known.leases, now)
	if left, deaf := f.deaf(); deaf && shown != nil {
		quiet, until = shown.Silent, left
	}
	busy := Utilization(known.leases)
	if !anything && maps.Equal(quiet, shown.Silent) && maps.Equal(busy, shown.Utilization) {
		return shown, until, nil
	}
	next := known
	if !complete || !anything {
		was := *shown
		next = &was
	}
	next.Silent, next.Utilization, next.Now, next.Outage = quiet, busy, now, f.outage()
	return next, until, nil
}

// objects are what is known now, of Leases alone where nothing else is asked for, and whether every kind was listed.
func (f *following) objects(all bool) (o *Objects, complete bool, err error) {
	f.mu.Lock()
	kinds := slices.Clone(f.kinds)
	complete = true
	for _, k := range kinds {
		complete = complete && k.filled
	}
	f.mu.Unlock()
	o = &Objects{}
	for _, k := range kinds {
		if !all && k.name != Leases {
			continue
		}
		if err := k.keepIn(o); err != nil {
			return nil, false, err
		}
	}
	return o, complete, nil
}

// nowhere is no namespace.
const nowhere = "-"

// probe finds out in which namespace a kind may be listed; empty stands for all.
func (c *Cluster) probe(ctx context.Context, name string) (within string, hidden *holding.Unseen, err error) {
	k := kinds[name]
	for _, within = range k.places(c, name) {
		one := k.selects
		one.Limit = 1
		err = c.request(&k, within, &one).Do(ctx).Error()
		switch {
		case err == nil && within == k.places(c, name)[0]:
			return within, nil, nil
		case err == nil:
			return within, &holding.Unseen{Kind: k.resource, Namespace: within}, nil
		case !apierrors.IsForbidden(err):
			return nowhere, nil, err
		}
	}
	return nowhere, &holding.Unseen{Kind: k.resource}, nil
}
