// Package detect reads a host's accelerators into an inventory. Each vendor is a Backend; all of them look through the
// one Host seam, so that a recorded host gives the same inventory as the live one gave.
package detect

import (
	"context"
	"time"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Backend knows how to find the devices of one vendor or kind.
type Backend interface {
	// Name is the backend's name in the inventory and on command lines.
	Name() string
	// Detect looks for devices. No device and no error means that there is none. An error means that it could not look:
	// nothing is known about its devices. What it found but could not fully read is told in Found.Degraded.
	Detect(ctx context.Context, host *Host) (Found, error)
}

// Found is what a backend found.
type Found struct {
	Devices []v1alpha1.Device
	Links   v1alpha1.Links
	// Host is set by the backend that reads the host itself.
	Host *v1alpha1.Host
	// Degraded says what could not be read about the devices, with the remedy where there is one; empty where all could.
	Degraded string
}

// Options say how to detect.
type Options struct {
	// Backends to run; nil means Backends().
	Backends []Backend
	// Deadline of each backend; 0 means DefaultDeadline.
	Deadline time.Duration
}

// DefaultDeadline is what a backend may take: `nvidia-smi` without persistence mode takes up to some seconds per GPU.
const DefaultDeadline = 20 * time.Second

// Backends returns every backend in this program, in order of their names.
func Backends() []Backend {
	return nil
}

// Detect runs the backends in parallel, each with its deadline, and joins what they found: devices in order of their
// ids, the same input giving the same status byte for byte. A backend that fails or panics is reported in the status
// and hides nothing of the others. The status carries no times.
func Detect(ctx context.Context, host *Host, options Options) v1alpha1.AcceleratorInventoryStatus {
	return v1alpha1.AcceleratorInventoryStatus{}
}
