package nodeagent

import (
	"context"
	"fmt"
	"time"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/backend"
)

// detection is what a scan saw; scans are numbered from 1.
type detection struct {
	status v1alpha1.AcceleratorInventoryStatus
	scan   int64
	signs  map[v1alpha1.DeviceID]backend.Signs
	booted time.Time
	// asked says that drivers' tools could be run.
	asked bool
	// released says why NVIDIA's driver was let go of; empty where it was not.
	released string
}

// scan opens the host anew and detects, and measures that. An error means that nothing was detected at all: what was detected
// before stays.
func (a *Agent) scan(ctx context.Context) error {
	a.metrics.scans.WithLabelValues(a.trigger).Inc()
	a.trigger = triggerRetry
	h, err := a.options.Host()
	if err != nil {
		return fmt.Errorf("open the host: %w", err)
	}
	h = a.gate.guard(h)
	start := a.clock.Now()
	report := detect.Detect(ctx, h, detect.Options{Backends: a.options.Backends, Deadline: a.options.BackendTimeout, Now: a.clock.Now})
	if err := ctx.Err(); err != nil {
		// Backends that were cut off would look as if they had failed.
		return fmt.Errorf("detection was cut off: %w", err)
	}
	a.metrics.took(&report, a.clock.Since(start))
	a.metrics.scanned(&report.Status, a.clock.Now())
	a.metrics.read(report)
	a.readUtilization(&report)
	released, _, _ := a.gate.state()
	a.stale = false
	a.detected = detection{
		status: report.Status, scan: a.detected.scan + 1, signs: report.Signs, booted: report.Booted, asked: h.Commands != nil,
		released: released,
	}
	return nil
}
