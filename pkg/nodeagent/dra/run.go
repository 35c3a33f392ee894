package dra

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	dra "k8s.io/kubelet/pkg/apis/dra/v1"

	"github.com/rankwright/rankwright/internal/await"
	"github.com/rankwright/rankwright/pkg/nodeagent/disk"
)

const (
	// firstTry and lastTry bound the time to the next attempt to write ResourceSlices, or to open the sockets, after one that
	// failed; it doubles with each.
	firstTry = 200 * time.Millisecond
	lastTry  = 10 * time.Second
	// nextLook is the time to the next look whether the ResourceSlices are still there. A kubelet deletes them when it starts,
	// before or after it registers the driver: for settleTime after a registration, lookAfterStart is.
	nextLook       = time.Minute
	lookAfterStart = time.Second
	settleTime     = 20 * time.Second
	// publishTimeout bounds the calls of a look.
	publishTimeout = 10 * time.Second
)

// Run serves until the context ends, from the first Update on. ResourceSlices stay when it ends: the next agent takes them
// over.
func (d *Driver) Run(ctx context.Context) {
	select {
	case <-d.wake: // there was an Update
	case <-ctx.Done():
		return
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { d.keepSlices(ctx); return nil })
	group.Go(func() error { d.keepSockets(ctx); return nil })
	_ = group.Wait()
}

// keepSockets has the sockets answered until the context ends.
func (d *Driver) keepSockets(ctx context.Context) {
	for delay := firstTry; ctx.Err() == nil; delay = min(2*delay, lastTry) {
		began := d.clock.Now()
		err := d.serve(ctx)
		if err == nil {
			return
		}
		if d.clock.Since(began) > lastTry {
			delay = firstTry
		}
		d.log.Error("the kubelet cannot reach the DRA driver", "error", err, "retryIn", delay.String())
		d.mu.Lock()
		d.kubelet = kubelet{refused: err.Error()}
		d.turn()
		d.mu.Unlock()
		await.Pause(ctx, d.clock, delay, nil)
	}
}

// serve answers at the sockets until the context ends, from the book of the agent before on.
func (d *Driver) serve(ctx context.Context) error {
	if err := os.MkdirAll(d.options.Folder, 0o750); err != nil {
		return fmt.Errorf("folder of the driver's socket: %w", err)
	}
	checkpoint, err := openCheckpoint(d.options.Folder, disk.Node{}, d.log)
	if err != nil {
		return err
	}
	claims := &handler{options: &d.options, wanted: &d.wanted, done: d.done, checkpoint: checkpoint}
	offer := func(server *grpc.Server) {
		dra.RegisterDRAPluginServer(server, claims)
		(&healthServer{handler: claims}).register(server)
	}
	return serveSockets(ctx, &d.options, offer, &connections{changed: d.connected}, d.registered)
}

// keepSlices has the ResourceSlices as they should be until the context ends.
func (d *Driver) keepSlices(ctx context.Context) {
	failed := time.Duration(0)
	for ctx.Err() == nil {
		change, err := d.publish(ctx)
		if ctx.Err() != nil {
			return
		}
		d.mu.Lock()
		d.unpublished = textOf(err)
		d.turn()
		delay := d.nextLook()
		d.mu.Unlock()
		if err != nil {
			failed = min(max(2*failed, firstTry), lastTry)
			delay = failed
			d.log.Warn("ResourceSlices are not as they should be", "error", err, "retryIn", delay.String())
		} else {
			failed = 0
			if !change.none() {
				d.log.Info("ResourceSlices changed", "written", len(change.write), "removed", len(change.remove))
			}
		}
		await.Pause(ctx, d.clock, delay, d.wake)
	}
}

// nextLook is the time to the next look after one that found everything in place. The lock is held.
func (d *Driver) nextLook() time.Duration {
	if d.kubelet.registered && d.clock.Since(d.registeredAt) >= settleTime {
		return nextLook
	}
	return lookAfterStart
}

func (d *Driver) publish(ctx context.Context) (change, error) {
	ctx, cancel := context.WithTimeout(ctx, publishTimeout)
	defer cancel()
	d.mu.Lock()
	devices := d.offer.devices
	d.mu.Unlock()
	return d.publisher.publish(ctx, devices)
}
