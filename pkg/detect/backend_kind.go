package detect

import (
	"cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// deviceKind is what all devices of a backend have in common.
type deviceKind struct {
	backend, vendor string
	family          v1alpha1.DeviceFamily
}

// device lists a PCI function with what the kernel and the catalogue know of it: memory and rates are nominal, and the
// health is left to the caller. name is the product's as the backend knows it before the catalogue is asked; empty where
// it does not. known says whether the catalogue has the product.
func (k deviceKind) device(files host.Files, function pciFunction, name string) (device v1alpha1.Device, product accelerator.Product, known bool) {
	pci := function.PCIDevice
	device = v1alpha1.Device{
		ID:     v1alpha1.DeviceID(k.vendor + "-" + function.Address),
		Vendor: k.vendor, Family: k.family, Backend: k.backend,
		Driver: function.Driver, PCI: &pci, NUMANode: function.NUMANode,
	}
	if function.Driver != "" {
		device.DriverVersion = moduleVersion(files, function.Driver)
	}
	product, known = accelerator.Lookup(accelerator.Key{
		VendorID: pci.VendorID, DeviceID: pci.DeviceID, Revision: pci.Revision,
		SubsystemVendorID: pci.SubsystemVendorID, SubsystemDeviceID: pci.SubsystemDeviceID, Product: name,
	})
	device.Product = name
	if known {
		device.Product = cmp.Or(name, product.Name)
		describe(&device, product)
	}
	return device, product, known
}

// describe sets what the catalogue knows of the device's product.
func describe(device *v1alpha1.Device, product accelerator.Product) {
	device.Architecture = cmp.Or(device.Architecture, product.Architecture)
	device.ComputeUnits = cmp.Or(device.ComputeUnits, product.ComputeUnits)
	performance := *product.Performance.DeepCopy()
	device.Performance = &performance
	if device.Memory == nil && product.MemoryMiB > 0 {
		device.Memory = &v1alpha1.DeviceMemory{TotalMiB: product.UsableMiB(), Source: v1alpha1.SourceCatalogue}
	}
}

func firstIndex(minors []int) *int32 {
	if len(minors) == 0 {
		return nil
	}
	index := int32(minors[0])
	return &index
}

// sharePerformance is the part of a product's peak rates that one of n equal partitions has.
func sharePerformance(whole *v1alpha1.DevicePerformance, n int64) *v1alpha1.DevicePerformance {
	if whole == nil {
		return nil
	}
	part := whole.DeepCopy()
	part.MemoryBandwidthMBps /= n
	for i := range part.Peak {
		part.Peak[i].GFLOPS /= n
	}
	return part
}
