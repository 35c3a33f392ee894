package whatif

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/inventory"
)

// reasonAssumed is the reason in the health of a device that does not exist.
const reasonAssumed = "Assumed"

// Add returns the inventory with so many more devices of a product of the catalogue, as if they were there: healthy, with
// nominal memory and rates, named <vendor>-added-<n>, and without a place on PCI. They are linked only where they make up
// a whole link domain of the product by themselves, as 8 H100 SXM do; what links fewer of them is not known.
func Add(before v1alpha1.AcceleratorInventory, product string, count int) (v1alpha1.AcceleratorInventory, error) {
	if room := inventory.MaxDevices - len(before.Status.Devices); count < 1 || count > room {
		return before, fmt.Errorf("add %d devices: an inventory holds %d and has %d: add from 1 to %d",
			count, inventory.MaxDevices, len(before.Status.Devices), room)
	}
	row, err := accelerator.Find(product)
	if err != nil {
		return before, fmt.Errorf("add: %w", err)
	}
	edited := *before.DeepCopy()
	status := &edited.Status
	added := assumed(row, count, status)
	status.Devices = append(status.Devices, added...)
	slices.SortFunc(status.Devices, func(a, b v1alpha1.Device) int { return cmp.Compare(a.ID, b.ID) })
	status.Links.Domains = append(status.Links.Domains, domainsOf(row, added)...)
	slices.SortFunc(status.Links.Domains, func(a, b v1alpha1.LinkDomain) int { return cmp.Compare(a.Name, b.Name) })
	status.Summary = inventory.Summarize(edited.Spec, status)
	return edited, nil
}

// Remove returns the inventory without the selected devices, their links and their allocations.
func Remove(before v1alpha1.AcceleratorInventory, selects inventory.Selector) v1alpha1.AcceleratorInventory {
	return inventory.Keep(before, inventory.Not(selects))
}

// Replace returns the inventory with the selected devices replaced by as many of a product.
func Replace(before v1alpha1.AcceleratorInventory, selects inventory.Selector, product string) (v1alpha1.AcceleratorInventory, error) {
	count := len(inventory.Pick(before.Status.Devices, selects))
	if count == 0 {
		return before, fmt.Errorf("replace by %q: no device is selected: select at least one", words.Shorten(product, 64))
	}
	return Add(Remove(before, selects), product, count)
}

// assumed makes devices of a product, numbered after those that Add made before.
func assumed(product accelerator.Product, count int, status *v1alpha1.AcceleratorInventoryStatus) []v1alpha1.Device {
	taken := map[v1alpha1.DeviceID]bool{}
	for i := range status.Devices {
		taken[status.Devices[i].ID] = true
	}
	devices := make([]v1alpha1.Device, 0, count)
	for n := 0; len(devices) < count; n++ {
		// The numbers have four digits, so that ids sort as they were added.
		id := v1alpha1.DeviceID(fmt.Sprintf("%s-added-%04d", product.Vendor, n))
		if taken[id] {
			continue
		}
		performance := *product.Performance.DeepCopy()
		device := v1alpha1.Device{
			ID: id, Vendor: product.Vendor, Family: product.Family, Product: product.Name, Architecture: product.Architecture,
			ComputeUnits: product.ComputeUnits,
			Performance:  &performance,
			Health:       v1alpha1.DeviceHealth{State: v1alpha1.Healthy, Reason: reasonAssumed, Message: "not detected: added to see what would be"},
		}
		if product.MemoryMiB > 0 {
			device.Memory = &v1alpha1.DeviceMemory{TotalMiB: product.UsableMiB(), Source: v1alpha1.SourceCatalogue}
		}
		devices = append(devices, device)
	}
	return devices
}
