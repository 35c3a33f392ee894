package nodeagent_test

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// hardware is a detection backend whose devices a test puts in and takes out.
type hardware struct {
	name string

	mu     sync.Mutex
	found  backend.Found
	broken bool
	hangs  bool
	scans  int
}

// Name is the backend's name.
func (h *hardware) Name() string { return h.name }

// Detect answers what the test set last.
func (h *hardware) Detect(ctx context.Context, _ *host.Host) (backend.Found, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.scans++
	switch {
	case h.hangs:
		h.mu.Unlock()
		<-ctx.Done()
		h.mu.Lock()
		return backend.Found{}, ctx.Err()
	case h.broken:
		return backend.Found{}, errors.New("the driver hangs: reset the device")
	default:
		return h.found, nil
	}
}

func (h *hardware) hang() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hangs = true
}

func (h *hardware) set(devices ...v1alpha1.Device) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.found, h.broken = backend.Found{Devices: devices}, false
}

// busy has a device compute for a part of the time, in percent.
func (h *hardware) busy(id v1alpha1.DeviceID, percent int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.found.Readings = backend.Readings{id: {UtilizationPercent: &percent}}
}

func (h *hardware) breakDown() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.broken = true
}

func (h *hardware) scanned() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.scans
}

func emptyHost() (*host.Host, error) { return host.NewRecording().Host(), nil }

func gpu(i int, change ...func(*v1alpha1.Device)) v1alpha1.Device {
	address := fmt.Sprintf("0000:%02x:00.0", 0x10+i)
	d := v1alpha1.Device{
		ID: v1alpha1.DeviceID("nvidia-" + address), Vendor: "nvidia", Family: v1alpha1.FamilyGPU,
		Product: "NVIDIA H100 80GB HBM3", Architecture: "Hopper", ComputeCapability: "9.0",
		Driver: "nvidia", DriverVersion: "570.86.15",
		PCI:    &v1alpha1.PCIDevice{Address: address, VendorID: "10de", DeviceID: "2330"},
		Memory: &v1alpha1.DeviceMemory{TotalMiB: 81559, Source: v1alpha1.SourceDriver},
		Health: v1alpha1.DeviceHealth{State: v1alpha1.Healthy},
	}
	for _, f := range change {
		f(&d)
	}
	return d
}

func amdGPU(i int) v1alpha1.Device {
	return gpu(i, func(d *v1alpha1.Device) {
		address := fmt.Sprintf("0000:%02x:00.0", 0x80+i)
		d.ID, d.Vendor, d.Product = v1alpha1.DeviceID("amd-"+address), "amd", "AMD Instinct MI300X"
		d.PCI = &v1alpha1.PCIDevice{Address: address, VendorID: "1002", DeviceID: "74a1"}
		d.Architecture, d.ComputeCapability, d.Driver, d.DriverVersion = "gfx942", "", "amdgpu", "6.10.5"
	})
}
