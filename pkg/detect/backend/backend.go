// Package backend is what the backends of pkg/detect have in common: what one is and what it finds, how a device is listed from what the kernel
// and the catalogue know, and the words for health, memory and readings.
package backend

import (
	"cmp"
	"context"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// Backend knows how to find the devices of one vendor or kind.
type Backend interface {
	// Name is the backend's name in the inventory and on command lines.
	Name() string
	// Detect looks for devices. No device and no error means that there is none. An error means that it could not look:
	// nothing is known about its devices. What it found but could not fully read is told in Found.Degraded.
	Detect(ctx context.Context, h *host.Host) (Found, error)
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

// Degrade adds what could not be read, and says of which kind the first of it is.
func (f *Found) Degrade(problems ...error) {
	f.ErrorKind = cmp.Or(f.ErrorKind, host.ErrorKind(problems...))
	if said := host.JoinProblems(problems...); said != "" {
		f.Degraded = strings.TrimPrefix(f.Degraded+"; "+said, "; ")
	}
}

// Add lists a device with what its sensors show and what is seen of its health.
func (f *Found) Add(device v1alpha1.Device, reading Reading, signs Signs) {
	f.Devices = append(f.Devices, device)
	if f.Readings == nil {
		f.Readings, f.Signs = Readings{}, map[v1alpha1.DeviceID]Signs{}
	}
	if f.Signs[device.ID] = signs; reading != (Reading{}) {
		f.Readings[device.ID] = reading
	}
}

// New is a backend of a name that detects by a function.
func New(name string, detect func(context.Context, *host.Host) (Found, error)) Backend {
	return named{name, detect}
}

type named struct {
	name   string
	detect func(context.Context, *host.Host) (Found, error)
}

// Name implements Backend.
func (b named) Name() string { return b.name }

// Detect implements Backend.
func (b named) Detect(ctx context.Context, h *host.Host) (Found, error) {
	return b.detect(ctx, h)
}
