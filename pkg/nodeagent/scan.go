package nodeagent

import (
	"context"
	"fmt"
	"time"

	"k8s.io/utils/clock"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect"
)

// scanner runs detections and measures them.
type scanner struct {
	host     func() (*detect.Host, error)
	backends []detect.Backend
	deadline time.Duration
	clock    clock.PassiveClock
	metrics  *metrics
}

// scan opens the host anew and detects. An error means that nothing was detected at all.
func (s *scanner) scan(ctx context.Context) (v1alpha1.AcceleratorInventoryStatus, error) {
	host, err := s.host()
	if err != nil {
		return v1alpha1.AcceleratorInventoryStatus{}, fmt.Errorf("open the host: %w", err)
	}
	backends := s.backends
	if backends == nil {
		backends = detect.Backends()
	}
	timed := make([]detect.Backend, len(backends))
	for i, b := range backends {
		timed[i] = timedBackend{b, s}
	}
	start := s.clock.Now()
	status := detect.Detect(ctx, host, detect.Options{Backends: timed, Deadline: s.deadline})
	if err := ctx.Err(); err != nil {
		// Backends that were cut off would look as if they had failed.
		return v1alpha1.AcceleratorInventoryStatus{}, fmt.Errorf("detection was cut off: %w", err)
	}
	s.metrics.observeBackend(allBackends, s.clock.Since(start))
	s.metrics.scanned(&status, s.clock.Now())
	return status, nil
}

// timedBackend is a backend whose time is measured.
type timedBackend struct {
	detect.Backend
	scanner *scanner
}

// Detect runs the backend.
func (b timedBackend) Detect(ctx context.Context, host *detect.Host) (detect.Found, error) {
	start := b.scanner.clock.Now()
	defer func() { b.scanner.metrics.observeBackend(b.Name(), b.scanner.clock.Since(start)) }()
	return b.Backend.Detect(ctx, host)
}
