package generic

import (
	"cmp"
	"context"
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
)

// WMI lists the graphics cards of a Windows host, as its management interface shows them (Win32_VideoController), each
// by its PCI ids. It runs PowerShell once, and nothing on other systems. Memory comes from the driver's 64-bit
// value in the registry (HardwareInformation.qwMemorySize), since AdapterRAM has 32 bits: what cannot be told from its
// end is left out. Displays of Remote Desktop, of Hyper-V and of the basic driver without a card are no cards.
//
// What another backend lists is that one's.
func WMI() backend.Backend { return backend.New(wmiName, detectWMI) }

const wmiName = "wmi"

func detectWMI(ctx context.Context, h *host.Host) (backend.Found, error) {
	if h.Commands == nil || host.IsLinux(h.Files) || !host.IsWindows(h.Files) {
		return backend.Found{Generic: true}, nil
	}
	result, err := host.Query(ctx, h, "", wmiQuery...)
	if err != nil {
		return backend.Found{}, err
	}
	adapters, err := parseWMI(result.Stdout)
	if err != nil {
		return backend.Found{}, fmt.Errorf("Win32_VideoController: %w", err)
	}
	found := backend.Found{Generic: true}
	for i := range adapters {
		if device, ok := adapters[i].device(); ok {
			found.Devices = append(found.Devices, device)
		}
	}
	return found, nil
}

// wmiVendors are the makers of cards by PCI vendor id. Others are displays of servers' management processors and of
// virtual machines.
var wmiVendors = map[string]string{"10de": "nvidia", "1002": "amd", "8086": "intel", "1ed5": "moore-threads"}

// device returns the card for the inventory; ok is false where the adapter is no card.
func (a *wmiAdapter) device() (v1alpha1.Device, bool) {
	ids, instance, ok := parsePNPDeviceID(a.PNPDeviceID)
	vendor := wmiVendors[ids.VendorID]
	if !ok || vendor == "" {
		return v1alpha1.Device{}, false
	}
	kind := backend.Kind{Backend: wmiName, Vendor: vendor, Family: v1alpha1.FamilyGPU}
	address, placed := parsePNPLocation(a.Location)
	ids.Address = cmp.Or(address, instance)
	memory := a.memory()
	// Without a driver's name no file is read.
	device, product, _ := kind.Measured(nil, pci.Function{PCIDevice: ids}, a.Name, *cmp.Or(memory, new(int64)))
	if !placed {
		device.PCI = nil
	}
	if memory == nil && product.MemoryMiB == 0 {
		memory = a.smallMemory()
	}
	if memory != nil {
		device.Memory = &v1alpha1.DeviceMemory{TotalMiB: *memory, Source: v1alpha1.SourceDriver}
	}
	device.DriverVersion, device.Health = a.DriverVersion, a.health()
	return device, true
}

// memory is what the driver wrote into the registry, in MiB; nil where it did not.
func (a *wmiAdapter) memory() *int64 {
	if mib := int64(a.MemorySize) >> 20; mib > 0 {
		return backend.AtMost(&mib, backend.MaxMemoryMiB)
	}
	return nil
}

// adapterRAMCap is the most that AdapterRAM can say: drivers give 4 GiB less 1 MiB, or less 1 byte, for anything above.
const adapterRAMCap = 4<<30 - 1<<20

// smallMemory is AdapterRAM in MiB where it can be the truth; nil elsewhere.
func (a *wmiAdapter) smallMemory() *int64 {
	if a.AdapterRAM < 1<<20 || a.AdapterRAM >= adapterRAMCap {
		return nil
	}
	return new(a.AdapterRAM >> 20)
}

// health is what Windows says of the device: an error code of 0, and OK.
func (a *wmiAdapter) health() v1alpha1.DeviceHealth {
	switch {
	case a.ErrorCode == nil && a.Status == "":
		return backend.NotMonitored("Windows does not say how the card is")
	case (a.ErrorCode == nil || *a.ErrorCode == 0) && (a.Status == "" || a.Status == "OK"):
		return backend.Healthy("Windows reports no problem of the device")
	default:
		code := cmp.Or(a.ErrorCode, new(int64))
		return backend.Unhealthy("DeviceError", fmt.Sprintf("Windows calls its status %q with error code %d: see the Device Manager", host.Clip(a.Status, 32), *code))
	}
}
