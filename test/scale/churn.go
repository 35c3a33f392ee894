package scale

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Churn renews Leases and writes inventories, so many of each a second, until it is stopped, which says how many inventories were written.
func (c *Cluster) Churn(ctx context.Context, leases, inventories int) (stop func() int64) {
	ctx, cancel := context.WithCancel(ctx)
	var writing sync.WaitGroup
	each := func(perSecond int, write func(context.Context, string) error) *atomic.Int64 {
		written := &atomic.Int64{}
		if perSecond == 0 {
			return written
		}
		writing.Go(func() {
			tick := time.NewTicker(time.Second / time.Duration(perSecond))
			defer tick.Stop()
			for i := 0; ; i++ {
				select {
				case <-tick.C:
					if write(ctx, c.Nodes[i%len(c.Nodes)].Name) == nil {
						written.Add(1)
					}
				case <-ctx.Done():
					return
				}
			}
		})
		return written
	}
	each(leases, c.Beat)
	touched := each(inventories, c.Touch)
	return func() int64 {
		cancel()
		writing.Wait()
		return touched.Load()
	}
}
