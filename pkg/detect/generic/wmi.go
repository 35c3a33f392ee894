package generic

import (
	"cmp"
	"context"
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
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
	pci, instance, ok := parsePNPDeviceID(a.PNPDeviceID)
	vendor := wmiVendors[pci.VendorID]
	if !ok || vendor == "" {
		return v1alpha1.Device{}, false
	}
	device := v1alpha1.Device{
		ID: v1alpha1.DeviceID(vendor + "-" + instance), Vendor: vendor, Family: v1alpha1.FamilyGPU, Backend: wmiName,
		Product: a.Name, DriverVersion: a.DriverVersion, Health: a.health(),
	}
	if address, ok := parsePNPLocation(a.Location); ok {
		pci.Address = address
		device.ID, device.PCI = v1alpha1.DeviceID(vendor+"-"+address), &pci
	}
	device.Memory = a.memory()
	key := accelerator.Key{
		VendorID: pci.VendorID, DeviceID: pci.DeviceID, SubsystemVendorID: pci.SubsystemVendorID,
		SubsystemDeviceID: pci.SubsystemDeviceID, Revision: pci.Revision, Product: a.Name,
	}
	if device.Memory != nil {
		key.MemoryMiB = device.Memory.TotalMiB
	}
	if product, known := accelerator.Lookup(key); known {
		device.Product = cmp.Or(device.Product, product.Name)
		backend.Describe(&device, product)
	}
	if device.Memory == nil {
		device.Memory = a.smallMemory()
	}
	return device, true
}

// memory is what the driver wrote into the registry; nil where it did not.
func (a *wmiAdapter) memory() *v1alpha1.DeviceMemory {
	mib := int64(a.MemorySize) >> 20
	if mib <= 0 || mib > backend.MaxMemoryMiB {
		return nil
	}
	return &v1alpha1.DeviceMemory{TotalMiB: mib, Source: v1alpha1.SourceDriver}
}

// adapterRAMCap is the most that AdapterRAM can say: drivers give 4 GiB less 1 MiB, or less 1 byte, for anything above.
const adapterRAMCap = 4<<30 - 1<<20

// smallMemory is AdapterRAM where it can be the truth.
func (a *wmiAdapter) smallMemory() *v1alpha1.DeviceMemory {
	if a.AdapterRAM < 1<<20 || a.AdapterRAM >= adapterRAMCap {
		return nil
	}
	return &v1alpha1.DeviceMemory{TotalMiB: a.AdapterRAM >> 20, Source: v1alpha1.SourceDriver}
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
