package nodeagent

import (
	"context"
	"fmt"
	"time"

	"k8s.io/utils/clock"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
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

// scanner runs detections and measures them.
type scanner struct {
	host     func() (*host.Host, error)
	gate     *driverGate
	backends []backend.Backend
	deadline time.Duration
	clock    clock.PassiveClock
	metrics  *metrics
}

// scan opens the host anew and detects. An error means that nothing was detected at all.
func (s *scanner) scan(ctx context.Context) (detection, error) {
	h, err := s.host()
	if err != nil {
		return detection{}, fmt.Errorf("open the host: %w", err)
	}
	start := s.clock.Now()
	report := detect.Detect(ctx, h, detect.Options{Backends: s.backends, Deadline: s.deadline, Now: s.clock.Now})
	if err := ctx.Err(); err != nil {
		// Backends that were cut off would look as if they had failed.
		return detection{}, fmt.Errorf("detection was cut off: %w", err)
	}
	for _, t := range report.Times {
		s.metrics.observeBackend(t.Backend, t.Elapsed)
	}
	s.metrics.observeBackend(allBackends, s.clock.Since(start))
	s.metrics.scanned(&report.Status, s.clock.Now())
	s.metrics.readings.set(report)
	released, _, _ := s.gate.state()
	return detection{
		status: report.Status, signs: report.Signs, booted: report.Booted, asked: h.Commands != nil,
		released: released,
	}, nil
}
