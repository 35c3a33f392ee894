package scale

import (
	"context"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// churn writes Leases and inventories, so many of each a second, until it is stopped.
func (r *run) churn(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	nodes, err := r.nodes()
	if err != nil || len(nodes) == 0 {
		cancel()
		return func() {}
	}
	var writing sync.WaitGroup
	each := func(perSecond int, write func(context.Context, string)) {
		if perSecond == 0 {
			return
		}
		writing.Go(func() {
			tick := time.NewTicker(time.Second / time.Duration(perSecond))
			defer tick.Stop()
			for i := 0; ; i++ {
				select {
				case <-tick.C:
					write(ctx, nodes[i%len(nodes)].Name)
				case <-ctx.Done():
					return
				}
			}
		})
	}
	each(r.Leases, func(ctx context.Context, node string) { _ = Beat(ctx, r.client, node, r.clock()) })
	each(r.Inventories, r.touch)
	return func() {
		cancel()
		writing.Wait()
	}
}

// touch writes an inventory as an agent does that saw memory of a device being taken or given back outside of pods.
func (r *run) touch(ctx context.Context, node string) {
	var inventory v1alpha1.AcceleratorInventory
	if r.client.Get(ctx, client.ObjectKey{Name: node}, &inventory) != nil {
		return
	}
	before := client.MergeFrom(inventory.DeepCopy())
	used := &inventory.Status.Devices[0].Memory.UsedByOthersMiB
	*used = 512 - *used
	_ = r.client.Status().Patch(ctx, &inventory, before)
}
