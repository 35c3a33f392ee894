package scale

import (
	"context"
	"sync"
	"sync/atomic"

	"golang.org/x/time/rate"
)

// Written is how many Leases and inventories were written.
type Written struct{ Leases, Inventories int64 }

// since is what was written after an earlier moment.
func (w Written) since(earlier Written) Written {
	return Written{w.Leases - earlier.Leases, w.Inventories - earlier.Inventories}
}

// Churn writes Leases and inventories until it is stopped.
type Churn struct {
	cancel              context.CancelFunc
	writing             sync.WaitGroup
	leases, inventories atomic.Int64
}

// Churn renews Leases and writes inventories, so many of each a second as far as the API server takes them.
func (c *Cluster) Churn(ctx context.Context, leases, inventories int) *Churn {
	churn := &Churn{}
	ctx, churn.cancel = context.WithCancel(ctx)
	churn.start(ctx, &churn.leases, leases, func(ctx context.Context, i int) error { return c.Beat(ctx, &c.Nodes[i%len(c.Nodes)]) })
	churn.start(ctx, &churn.inventories, inventories, func(ctx context.Context, i int) error { return c.Touch(ctx, c.Nodes[i%len(c.Nodes)].Name) })
	return churn
}

// start has several write, since one that waits for an answer each time is too slow beside a busy API server.
func (c *Churn) start(ctx context.Context, written *atomic.Int64, perSecond int, write func(context.Context, int) error) {
	if perSecond == 0 {
		return
	}
	var next atomic.Int64
	writing := context.WithoutCancel(ctx) // what is under way when it is stopped is written
	limit := rate.NewLimiter(rate.Limit(perSecond), 1)
	for range writers {
		c.writing.Go(func() {
			for limit.Wait(ctx) == nil {
				if write(writing, int(next.Add(1))) == nil {
					written.Add(1)
				}
			}
		})
	}
}

// Written says what was written until now.
func (c *Churn) Written() Written {
	if c == nil {
		return Written{}
	}
	return Written{c.leases.Load(), c.inventories.Load()}
}

// Stop ends it.
func (c *Churn) Stop() {
	if c != nil {
		c.cancel()
		c.writing.Wait()
	}
}
