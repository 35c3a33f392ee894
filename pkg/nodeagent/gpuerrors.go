package nodeagent

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"time"

	"k8s.io/utils/clock"

	"github.com/rankwright/rankwright/internal/await"
	"github.com/rankwright/rankwright/internal/nvml/report"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/nodeagent/health"
)

// firstRestart and lastRestart bound the time until the program is started again after it ended.
const (
	firstRestart = 10 * time.Second
	lastRestart  = 5 * time.Minute
)

// gpuErrorsTool prints a line for every error that NVIDIA's driver tells of by NVML (XID, ECC), until its input ends.
var gpuErrorsTool = []string{"rankwright-nvml", "events"}

// gpuErrors is an event source: the errors of NVIDIA's GPUs. A program reads them, since a library that hangs or crashes must
// not take the agent with it; when it ends, it is started again after a while.
type gpuErrors struct {
	tools host.Streamer
	// driver is a file that is there while NVIDIA's driver is loaded.
	driver string
	gate   *driverGate
	clock  clock.Clock
	log    *slog.Logger
	// seen is told of every error.
	seen func(report.Event)
	// state is told how far the program is; why says what it failed of.
	state func(state monitorState, why string)
}

// run is an eventSource.
func (g *gpuErrors) run(ctx context.Context, notify func()) error {
	delay := firstRestart
	for ctx.Err() == nil {
		read, err := g.watch(ctx, notify)
		if ctx.Err() != nil {
			return nil
		}
		if g.released(ctx) {
			delay = firstRestart
			continue
		}
		if read > 0 {
			delay = firstRestart
		}
		if err != nil {
			g.state(monitorFailed, err.Error())
			g.log.Warn("errors of NVIDIA GPUs are not watched for now", "error", err, "restartIn", delay.String())
		}
		await.Pause(ctx, g.clock, delay, nil)
		delay = min(2*delay, lastRestart)
	}
	return nil
}

// released waits while the driver is let go of, and says whether it was.
func (g *gpuErrors) released(ctx context.Context) bool {
	why, _, opened := g.gate.state()
	if why == "" {
		return false
	}
	g.state(monitorFailed, "it lets go of the driver: "+why)
	g.log.Info("NVIDIA's driver is let go of: errors of its GPUs are not watched", "reason", why)
	select {
	case <-ctx.Done():
	case <-opened:
		g.log.Info("NVIDIA's driver may be asked again")
	}
	return true
}

// watch runs the program until it ends, the source is closed or the driver is let go of, and returns how many errors it told
// of. It does nothing where the driver is not loaded.
func (g *gpuErrors) watch(ctx context.Context, notify func()) (read int, err error) {
	if _, err := os.Stat(g.driver); err != nil {
		return 0, nil //nolint:nilerr // a host without NVIDIA's driver has no errors of its GPUs
	}
	ctx, leave, err := g.gate.enter(ctx, gpuErrorsTool)
	if err != nil {
		return 0, err
	}
	defer leave()
	g.state(monitorStarting, "")
	err = g.tools.Stream(ctx, func(line []byte) error {
		var event report.Event
		if err := json.Unmarshal(line, &event); err != nil {
			return fmt.Errorf("no error of a GPU: %w", err)
		}
		if event.Type == report.Watching {
			g.state(monitorWatching, "")
			return nil
		}
		read++
		g.seen(event)
		notify()
		return nil
	}, gpuErrorsTool...)
	return read, err
}

// gpuError logs and counts an error of a GPU, and has the device's health changed at once where it means something.
func (a *Agent) gpuError(event report.Event) {
	xid := ""
	if event.XID != nil {
		xid = strconv.FormatInt(*event.XID, 10)
	}
	a.metrics.gpuErrors.WithLabelValues(event.PCI, event.Type, xid).Inc()
	a.log.Warn("NVIDIA's driver tells of an error of a GPU", "pci", event.PCI, "type", event.Type, "xid", xid)
	if signal, ok := gpuSignal(event); ok && event.PCI != "" {
		a.deviceFault(deviceFault{pci: event.PCI, signal: signal})
	}
}

// gpuSignal is what an error means for the GPU; ok is false where it means nothing.
func gpuSignal(event report.Event) (signal health.Signal, ok bool) {
	switch {
	case event.XID != nil:
		return health.XID(*event.XID)
	case event.Type == report.DoubleBitECC:
		return health.DoubleBitECC(), true
	default:
		return health.Signal{}, false
	}
}

// deviceFault has what an event tells of published at once.
func (a *Agent) deviceFault(fault deviceFault) {
	a.publisher.health.fault(fault)
	a.publishSoon()
}

// gpuMonitor notes whether errors of GPUs are watched.
func (a *Agent) gpuMonitor(state monitorState, why string) {
	if a.publisher.health.setMonitor(state, why, a.clock.Now()) {
		a.publishSoon()
	}
}
