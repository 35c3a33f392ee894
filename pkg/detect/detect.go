// Package detect reads a host's accelerators into an inventory. Each vendor is a Backend; all of them look through the
// one Host seam, so that a recorded host gives the same inventory as the live one gave.
package detect

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/inventory"
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
	// NICs and Storage are the ports and disks beside the devices.
	NICs    []v1alpha1.NIC
	Storage []v1alpha1.StorageDevice
	// Host is set by the backend that reads the host itself.
	Host *v1alpha1.Host
	// Readings are of the devices that have sensors.
	Readings Readings
	// Signs are what is seen of the devices' health beside their states.
	Signs map[v1alpha1.DeviceID]Signs
	// Generic says that the backend knows devices of any kind by a common interface: what another backend lists, by PCI
	// address or device path, is that one's.
	Generic bool
	// Degraded says what could not be read about the devices, with the remedy where there is one; empty where all could.
	// ErrorKind is of the first problem in it.
	Degraded  string
	ErrorKind v1alpha1.ErrorKind
}

// Readings are what sensors show at the moment of a detection, by device. They change all the time and are no part of an
// inventory.
type Readings map[v1alpha1.DeviceID]Reading

// Reading is what a device's sensors show; nil is what nothing reports.
type Reading struct {
	// MemoryUsedMiB is what all processes together use, in MiB.
	MemoryUsedMiB *int64 `json:"memoryUsedMiB,omitempty"`
	// TemperatureMilliC is of the processor, in thousandths of a degree Celsius.
	TemperatureMilliC *int64 `json:"temperatureMilliC,omitempty"`
	// PowerMilliW is what the device draws, in thousandths of a watt.
	PowerMilliW *int64 `json:"powerMilliW,omitempty"`
	// UtilizationPercent is the part of the time that the device computed, from 0 to 100.
	UtilizationPercent *int64 `json:"utilizationPercent,omitempty"`
	// PCIeMBps is what the PCI link can carry in one direction as it is now, PCIeMaxMBps what it could at most by both its ends:
	// each before the headers of packets, in MB/s (10^6 bytes per second). An idle device may lower its link.
	PCIeMBps    *int64 `json:"pcieMBps,omitempty"`
	PCIeMaxMBps *int64 `json:"pcieMaxMBps,omitempty"`
}

// Report is what a detection found.
type Report struct {
	// Status is the inventory. It carries nothing that changes with every detection.
	Status v1alpha1.AcceleratorInventoryStatus
	// Readings are of the devices in the status.
	Readings Readings
	// Signs are of the devices in the status.
	Signs map[v1alpha1.DeviceID]Signs
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
	Backends []Backend
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
const abandonGrace = 2*pipeGrace + time.Second

// Detect runs the backends in parallel, each with its deadline, and joins what they found: devices in order of their
// ids, the same input giving the same status byte for byte. A backend that fails or panics is reported in the status
// and hides nothing of the others.
//
// A backend that does not return when its time is up is reported as failed and left behind: its goroutine ends when
// what it waits for does.
func Detect(ctx context.Context, host *Host, options Options) Report {
	backends := options.Backends
	if backends == nil {
		backends = Backends()
	}
	deadline := options.Deadline
	if deadline <= 0 {
		deadline = DefaultDeadline
	}
	scan := &Host{Files: host.Files, Commands: host.Commands}
	scan.pci = sync.OnceValues(func() ([]pciFunction, error) { return listPCIFunctions(scan) })

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
		report.Booted = bootTime(host.Files)
	}
	return report
}

// outcome is what a backend came to.
type outcome struct {
	backend string
	found   Found
	err     error
	elapsed time.Duration
}

// attempt runs a backend, but waits no longer for it than its deadline and some grace.
func attempt(ctx context.Context, backend Backend, host *Host, deadline time.Duration) outcome {
	work, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()
	patience, lose := context.WithTimeout(ctx, deadline+abandonGrace)
	defer lose()

	done := make(chan outcome, 1)
	go func() {
		found, err := detectSafely(work, backend, host)
		done <- outcome{backend: backend.Name(), found: found, err: err}
	}()
	select {
	case result := <-done:
		return result
	case <-patience.Done():
		err := ofKind(v1alpha1.ErrorTimeout,
			fmt.Errorf("gave no answer within %v: what it reads or runs hangs; look for processes in state D and driver messages in dmesg", deadline))
		if cause := ctx.Err(); cause != nil {
			err = cause
		}
		return outcome{backend: backend.Name(), err: err}
	}
}

// errPanicked marks a defect of a backend, as against a failure of the host.
var errPanicked = errors.New("defect in the backend")

func detectSafely(ctx context.Context, backend Backend, host *Host) (found Found, err error) {
	defer func() {
		if p := recover(); p != nil {
			found, err = Found{}, fmt.Errorf("%w: panic: %v at %s", errPanicked, p, panicSite(debug.Stack()))
		}
	}()
	return backend.Detect(ctx, host)
}
