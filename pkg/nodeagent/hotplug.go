package nodeagent

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/rankwright/rankwright/internal/await"
	"github.com/rankwright/rankwright/pkg/nodeagent/health"
)

// eventSource tells that devices may have come, gone or failed: it calls notify for every event until the context ends, then
// returns nil. It waits in the kernel. What it was opened with is closed when the context ends.
type eventSource func(ctx context.Context, notify func()) error

// eventSources are the ways to learn of devices that come and go, by the trigger that they are.
func (a *Agent) eventSources() map[string]func() (eventSource, error) {
	sources := map[string]func() (eventSource, error){}
	if a.options.Uevents {
		sources[triggerUevent] = func() (eventSource, error) { return openUevents(a.uevent) }
	}
	if folder := a.options.DevFolder; folder != "" {
		sources[triggerDev] = func() (eventSource, error) { return openDevWatch(folder) }
	}
	if tools := a.options.GPUErrors; tools != nil {
		sources[triggerGPUError] = func() (eventSource, error) {
			watch := &gpuErrors{
				tools: tools, driver: a.options.NVIDIADriver, gate: a.gate, clock: a.clock, log: a.log, seen: a.gpuError, state: a.gpuMonitor,
			}
			return watch.run, nil
		}
	}
	return sources
}

// uevent takes what an event of the kernel tells of a device's health.
func (a *Agent) uevent(event uevent) {
	if address := event.pciAddress(); event.wedged && address != "" {
		a.log.Warn("the kernel's driver gave a GPU up", "pci", address)
		a.deviceFault(deviceFault{pci: address, signal: health.Wedged()})
	}
}

// watchEvents has devices detected when they come and go, until the context ends. A source that cannot be opened, or that
// fails, is logged and counted; devices are found with the period then.
func (a *Agent) watchEvents(ctx context.Context, group *errgroup.Group, sources map[string]func() (eventSource, error)) {
	burst := &debouncer{clock: a.clock, events: make(chan string, 1), rescan: a.rescanFor}
	for trigger, open := range sources {
		source, err := open()
		if err != nil {
			a.eventsLost(trigger, err)
			continue
		}
		a.metrics.eventSource.WithLabelValues(trigger).Set(1)
		group.Go(func() error {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			if err := source(ctx, func() { await.Signal(burst.events, trigger) }); err != nil {
				a.eventsLost(trigger, err)
			}
			return nil
		})
	}
	group.Go(func() error { burst.run(ctx); return nil })
}

func (a *Agent) eventsLost(trigger string, err error) {
	a.metrics.eventSource.WithLabelValues(trigger).Set(0)
	a.log.Warn("devices that come and go are found with the rescan interval only, not by these events",
		"events", trigger, "error", err, "rescanInterval", a.options.RescanInterval.String())
}
