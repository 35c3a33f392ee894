package operator

import (
	"slices"
	"unique"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// shareAlike has an inventory share in memory what many have: the texts that name devices, products and places with all inventories, and what devices of a
// product can do and are served as with the device before. Of decoded JSON each has its own. What an informer keeps is never written to.
func shareAlike(of *v1alpha1.AcceleratorInventoryStatus) {
	for i := range of.Devices {
		d := &of.Devices[i]
		share(&d.ID)
		share(&d.Family)
		share(&d.Health.State)
		for _, text := range []*string{
			&d.Vendor, &d.Backend, &d.Product, &d.Architecture, &d.ComputeCapability, &d.Driver, &d.DriverVersion, &d.CUDAVersion, &d.FirmwareVersion, &d.Health.Reason,
		} {
			share(text)
		}
		sharePlace(d.PCI)
		shareEach(d.Paths)
		if i == 0 {
			continue
		}
		before := &of.Devices[i-1]
		if samePerformance(d.Performance, before.Performance) {
			d.Performance = before.Performance
		}
		if d.Service != nil && before.Service != nil && *d.Service == *before.Service {
			d.Service = before.Service
		}
	}
	for i := range of.Links.Domains {
		shareEach(of.Links.Domains[i].Members)
	}
	for i := range of.Backends {
		b := &of.Backends[i]
		share(&b.Name)
		share(&b.State)
		share(&b.Message)
	}
	for i := range of.NICs {
		sharePlace(of.NICs[i].PCI)
	}
}

func samePerformance(a, b *v1alpha1.DevicePerformance) bool {
	return a != nil && b != nil && a.MemoryBandwidthMBps == b.MemoryBandwidthMBps && a.Source == b.Source && slices.Equal(a.Peak, b.Peak)
}

func sharePlace(of *v1alpha1.PCIDevice) {
	if of == nil {
		return
	}
	for _, text := range []*string{&of.Address, &of.VendorID, &of.DeviceID, &of.SubsystemVendorID, &of.SubsystemDeviceID, &of.Revision, &of.Root} {
		share(text)
	}
	shareEach(of.Bridges)
}

func shareEach[T ~string](texts []T) {
	for i := range texts {
		share(&texts[i])
	}
}

// share replaces a text by the equal one that all others have.
func share[T ~string](text *T) { *text = T(unique.Make(string(*text)).Value()) }
