// Package detect reads a host's accelerators into an inventory: it runs the backends, of which each knows the devices of one vendor or
// kind, and joins what they find. What they look through is pkg/detect/host, what they have in common pkg/detect/backend.
package detect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/machine"
	"github.com/rankwright/rankwright/pkg/inventory"
)

// Report is what a detection found.
type Report struct {
	// Status is the inventory. It carries nothing that changes with every detection.
	Status v1alpha1.AcceleratorInventoryStatus
	// Readings are of the devices in the status.
	Readings backend.Readings
	// Signs are of the devices in the status.
	Signs map[v1alpha1.DeviceID]backend.Signs
	// Booted is when the host booted; the zero time where the kernel does not say.
	Booted time.Time
	// Times is what each backend took, in order of their names.
	Times []BackendTime
}

// BackendTime is what a backend took.
type BackendTime struct {
	Backend string
	Elapsed time.Duration
}

// Options say how to detect.
type Options struct {
	// Backends to run; nil means Backends().
	Backends []backend.Backend
	// Deadline of each backend; 0 means DefaultDeadline.
	Deadline time.Duration
	// Now tells the time, by which backends are measured; nil means time.Now.
	Now func() time.Time
}

// DefaultDeadline is what a backend may take. Without persistence mode NVIDIA's driver starts each GPU for the first process
// that asks, which takes up to four seconds a GPU, so half a minute on eight: NVML, which may take half of the deadline, has
// to be through with that.
const DefaultDeadline = 90 * time.Second

// abandonGrace is what a backend may take to return after its deadline: its tool is killed and its output drained first.
const abandonGrace = host.KillGrace + time.Second

// Detect runs the backends in parallel, each with its deadline, and joins what they found: devices in order of their
// ids, the same input giving the same status byte for byte. A backend that fails or panics is reported in the status
// and hides nothing of the others.
//
// A backend that does not return when its time is up is reported as failed and left behind: its goroutine ends when
// what it waits for does.
func Detect(ctx context.Context, h *host.Host, options Options) Report {
	backends := options.Backends
	if backends == nil {
		backends = Backends()
	}
	deadline := cmp.Or(options.Deadline, DefaultDeadline)
	scan := h.Remembering()
	now := options.Now
	if now == nil {
		now = time.Now
	}

	outcomes := make([]outcome, len(backends))
	var running sync.WaitGroup
	for i, backend := range backends {
		running.Go(func() {
			start := now()
			outcomes[i] = attempt(ctx, backend, scan, deadline)
			outcomes[i].elapsed = now().Sub(start)
		})
	}
	running.Wait()
	report := join(outcomes)
	observe(ctx, scan, &report)
	report.Status.Summary = inventory.Summarize(v1alpha1.AcceleratorInventorySpec{}, &report.Status)
	if len(report.Status.Devices) > 0 {
		report.Booted = machine.Booted(h.Files)
	}
	return report
}

// outcome is what a backend came to.
type outcome struct {
	backend string
	found   backend.Found
	err     error
	elapsed time.Duration
}

// attempt runs a backend, but waits no longer for it than its deadline and some grace.
func attempt(ctx context.Context, b backend.Backend, h *host.Host, deadline time.Duration) outcome {
	work, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	patience, lose := context.WithTimeout(ctx, deadline+abandonGrace)
	defer lose()

	done := make(chan outcome, 1)
	go func() {
		found, err := detectSafely(work, b, h)
		done <- outcome{backend: b.Name(), found: found, err: err}
	}()
	select {
	case result := <-done:
		return result
	case <-patience.Done():
		err := host.OfKind(v1alpha1.ErrorTimeout,
			fmt.Errorf("gave no answer within %v: what it reads or runs hangs; look for processes in state D and driver messages in dmesg", deadline))
		if cause := ctx.Err(); cause != nil {
			err = cause
		}
		return outcome{backend: b.Name(), err: err}
	}
}

// errPanicked marks a defect of a backend, as against a failure of the host.
var errPanicked = host.OfKind(v1alpha1.ErrorDefect, errors.New("defect in the backend"))

func detectSafely(ctx context.Context, b backend.Backend, h *host.Host) (found backend.Found, err error) {
	defer func() {
		if p := recover(); p != nil {
			found, err = backend.Found{}, fmt.Errorf("%w: panic: %v at %s", errPanicked, p, panicSite(debug.Stack()))
		}
	}()
	return b.Detect(ctx, h)
}
