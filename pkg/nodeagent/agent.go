package nodeagent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"runtime/debug"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"github.com/rankwright/rankwright/internal/await"
	"github.com/rankwright/rankwright/pkg/nodeagent/podresources"
)

const (
	// apiTimeout bounds the calls of one publication or renewal, so that a silent API server cannot stop the loop.
	apiTimeout = 30 * time.Second
	// firstRetry and lastRetry bound the time to the next attempt after a failure, which doubles with each failure.
	firstRetry = time.Second
	lastRetry  = 2 * time.Minute
	// confirmDelay is the time to the detection that tells whether a device that one missed is really gone.
	confirmDelay = 10 * time.Second
	// recheckDelay is the time to the detection that tells whether a device is well again, or really suspect.
	recheckDelay = 30 * time.Second
)

// Agent keeps a node's inventory, labels and heartbeat up to date.
type Agent struct {
	options   Options
	log       *slog.Logger
	clock     clock.Clock
	client    dynamic.Interface
	metrics   *metrics
	gate      *driverGate
	publisher *publisher
	// servers serve devices to the kubelet; empty where none are to be served.
	servers servers
	// kubelet is nil where no kubelet is to be asked.
	kubelet *podresources.Poller

	// installed says that the DaemonSet of the agents was there when it was asked for.
	installed bool

	// rescan carries what asks for a detection.
	rescan  chan string
	changed chan struct{}

	// turned is when the loop last began a turn, in Unix nanoseconds; node is the Node as last read; ready is set with
	// the first publication. They and utilization are shared with the probes and the heartbeat.
	turned atomic.Int64
	node   atomic.Pointer[metav1.PartialObjectMetadata]
	ready  atomic.Bool
	// utilization is what the last detection read, as the Lease has it; nil where no device shows any.
	utilization atomic.Pointer[string]

	// detected is what the last successful scan saw, and stale says that another is due, for the reason in trigger; only the
	// loop uses them.
	detected detection
	stale    bool
	trigger  string
	// missed says that the last publication was the first to miss a device, recheck that another detection may change the
	// health of one, next when to publish again at the latest.
	missed, recheck bool
	next            time.Time
	events          *eventRecorder
}

// Rescan asks for a detection as soon as the loop is free. Requests that come meanwhile are one.
func (a *Agent) Rescan() { a.rescanFor(triggerSignal) }

// publishSoon has what is known published as soon as the loop is free. It does not wait.
func (a *Agent) publishSoon() { await.Signal(a.changed, struct{}{}) }

func (a *Agent) rescanFor(trigger string) { await.Signal(a.rescan, trigger) }

// Poke has the kubelet asked soon who holds which device: something was allocated. It does not wait.
func (a *Agent) Poke() {
	if a.kubelet != nil {
		a.kubelet.Poke()
	}
}

// due says that a detection is due; of several reasons, the first is told.
func (a *Agent) due(trigger string) {
	if !a.stale {
		a.stale, a.trigger = true, trigger
	}
}

// Once detects and publishes once.
func (a *Agent) Once(ctx context.Context) error {
	a.due(triggerStart)
	if a.kubelet != nil {
		a.kubelet.Poll(ctx)
	}
	return a.turn(ctx)
}

// Run detects and publishes until the context ends, then returns nil. Neither a node without devices nor an API server
// that is away ends it; an address that cannot be listened at does.
func (a *Agent) Run(ctx context.Context) error {
	a.touch()
	a.publisher.servers = a.servers
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	err := cmp.Or(
		serve(ctx, group, a.log, "health", a.options.HealthAddress, probes(a.alive, a.isReady), nil),
		a.serveMetrics(ctx, group),
	)
	if err != nil {
		cancel()
		return errors.Join(err, group.Wait())
	}
	group.Go(func() error {
		return a.watch(ctx, inventories, observedOfInventory, func(*unstructured.Unstructured) { a.publishSoon() })
	})
	group.Go(func() error { return a.watch(ctx, nodes, observedOfNode, a.nodeChanged) })
	if a.kubelet != nil {
		a.kubelet.Poll(ctx)
		group.Go(func() error { a.kubelet.Run(ctx); return nil })
	}
	a.watchEvents(ctx, group, a.eventSources())
	for _, server := range a.servers {
		group.Go(func() error { server.Run(ctx); return nil })
	}
	if len(a.servers) > 0 && a.options.Pod != (podresources.Pod{}) {
		group.Go(func() error { a.findDaemonSet(ctx); return nil })
		defer a.removeFiles()
	}
	group.Go(func() error {
		a.loop(ctx, func() {
			group.Go(func() error { a.keepBeating(ctx); return nil })
		})
		return nil
	})
	return group.Wait()
}

// loop takes turns until the context ends: it detects when a period has passed, on request, or to look again for a device
// that was missed, and publishes what it knows when the inventory's spec changed. started is called once, when the Node has been seen.
func (a *Agent) loop(ctx context.Context, started func()) {
	due, failures, reason := a.clock.Now(), 0, triggerStart
	for ctx.Err() == nil {
		a.touch()
		if !a.clock.Now().Before(due) {
			a.due(reason)
			due, reason = a.clock.Now().Add(a.options.RescanInterval), triggerPeriod
		}
		err := a.turn(ctx)
		if sooner, trigger := a.sooner(); trigger != "" && sooner.Before(due) {
			due, reason = sooner, trigger
		}
		delay := due.Sub(a.clock.Now())
		if !a.next.IsZero() {
			delay = min(delay, a.next.Sub(a.clock.Now()))
		}
		if started != nil && a.node.Load() != nil {
			started()
			started = nil
		}
		if err != nil && ctx.Err() == nil {
			delay = min(delay, retryDelay(failures, rand.Float64()))
			failures++
			a.log.Error("turn failed", "error", err, "failures", failures, "retryIn", delay.Round(time.Millisecond).String())
		} else {
			failures = 0
		}
		// A detection and a publication need several times what the agent keeps, and the next ones are minutes away.
		debug.FreeOSMemory()
		a.wait(ctx, delay)
	}
}

// sooner is when to detect again, if before the period, and why.
func (a *Agent) sooner() (at time.Time, trigger string) {
	switch {
	case a.missed:
		at, trigger = a.clock.Now().Add(confirmDelay), triggerMissed
	case a.recheck:
		at, trigger = a.clock.Now().Add(recheckDelay), triggerHealth
	}
	a.missed, a.recheck = false, false
	return at, trigger
}

// wait returns when there is something to do.
func (a *Agent) wait(ctx context.Context, delay time.Duration) {
	timer := a.clock.NewTimer(max(delay, 0))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C():
	case <-a.changed:
	case trigger := <-a.rescan:
		a.due(trigger)
	}
}

// retryDelay is the time to the next attempt after the failures before this one; random is in [0, 1).
func retryDelay(failures int, random float64) time.Duration {
	return jittered(min(firstRetry<<min(failures, 16), lastRetry), random)
}

// turn detects where that is due, and publishes what was detected last. A detection that fails leaves the one before in
// place, and stays due.
func (a *Agent) turn(ctx context.Context) error {
	var scanErr error
	if a.stale {
		scanErr = a.scan(ctx)
	}
	if a.detected.scan == 0 {
		return scanErr
	}
	return errors.Join(scanErr, a.publish(ctx))
}

func (a *Agent) publish(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	outcome, err := a.publisher.publish(ctx, a.detected)
	a.metrics.published(outcome, err)
	a.events.tell(ctx, outcome.inventory, outcome.changes)
	if outcome.node != nil {
		a.node.Store(outcome.node)
	}
	if err != nil {
		if !outcome.served {
			a.publisher.serveUnpublished(a.detected)
		}
		return err
	}
	a.ready.Store(true)
	a.missed, a.recheck, a.next = outcome.missed, outcome.recheck, outcome.due
	level := slog.LevelDebug
	if outcome.written {
		level = slog.LevelInfo
	}
	if outcome.unsaid != nil {
		a.log.Warn("the Node does not say whether its accelerators are ready", "error", outcome.unsaid)
	}
	for key, manager := range outcome.contested {
		a.log.Warn("held by another field manager and left to it", "key", key, "manager", manager)
	}
	summary := outcome.status.Summary
	a.log.Log(ctx, level, "inventory published", "written", outcome.written, "devices", summary.Devices,
		"healthy", summary.Healthy, "products", summary.Products, "contested", len(outcome.contested))
	return nil
}

func (a *Agent) touch() { a.turned.Store(a.clock.Now().UnixNano()) }

// alive is the liveness check: the loop has begun a turn within the longest time that one may take.
func (a *Agent) alive() error {
	longest := a.options.RescanInterval + a.options.BackendTimeout + 2*apiTimeout
	if idle := a.clock.Since(time.Unix(0, a.turned.Load())); idle > longest {
		return fmt.Errorf("the loop has not turned for %s, longer than the %s that a turn may take", idle.Round(time.Second), longest)
	}
	return nil
}

// isReady is the readiness check: the inventory is published, and the kubelet takes what is served.
func (a *Agent) isReady() error {
	if !a.ready.Load() {
		return errors.New("no inventory has been published yet; the log says why")
	}
	return a.publisher.servers.account().Ready()
}
