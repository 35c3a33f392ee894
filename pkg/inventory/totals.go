package inventory

import (
	"cmp"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Total is counts and sums over devices that have something in common.
type Total struct {
	// Vendor, Family and Product are common to the counted devices; empty where they differ or do not matter.
	Vendor  string                `json:"vendor,omitempty"`
	Family  v1alpha1.DeviceFamily `json:"family,omitempty"`
	Product string                `json:"product,omitempty"`
	Devices int                   `json:"devices"`
	// Usable is how many of the devices new work may be put on.
	Usable    int   `json:"usable"`
	MemoryMiB int64 `json:"memoryMiB"`
	// FreeMiB is the memory that other processes leave on the usable devices.
	FreeMiB int64 `json:"freeMiB"`
}

// Totals are counts and sums over all devices and over each kind, each list in order of what it is grouped by.
type Totals struct {
	Total     `json:",inline"`
	ByVendor  []Total `json:"byVendor,omitempty"`
	ByFamily  []Total `json:"byFamily,omitempty"`
	ByProduct []Total `json:"byProduct,omitempty"`
}

// Sum adds up devices.
func Sum(devices []v1alpha1.Device) Totals {
	totals := Totals{
		ByVendor: sumBy(devices, func(d *v1alpha1.Device) Total { return Total{Vendor: d.Vendor} }),
		ByFamily: sumBy(devices, func(d *v1alpha1.Device) Total { return Total{Family: d.Family} }),
		ByProduct: sumBy(devices, func(d *v1alpha1.Device) Total {
			return Total{Vendor: d.Vendor, Family: d.Family, Product: d.Product}
		}),
	}
	for i := range devices {
		totals.add(&devices[i])
	}
	return totals
}

func (t *Total) add(d *v1alpha1.Device) {
	t.Devices++
	if d.Memory != nil {
		t.MemoryMiB += d.Memory.TotalMiB
	}
	if d.Usable() {
		t.Usable++
		t.FreeMiB += d.FreeMiB()
	}
}

// sumBy adds up the devices of each kind; a kind is a Total without counts.
func sumBy(devices []v1alpha1.Device, kindOf func(*v1alpha1.Device) Total) []Total {
	var sums []Total
	for i := range devices {
		kind := kindOf(&devices[i])
		at, known := slices.BinarySearchFunc(sums, kind, compareKinds)
		if !known {
			sums = slices.Insert(sums, at, kind)
		}
		sums[at].add(&devices[i])
	}
	return sums
}

func compareKinds(a, b Total) int {
	return cmp.Or(cmp.Compare(a.Vendor, b.Vendor), cmp.Compare(a.Family, b.Family), cmp.Compare(a.Product, b.Product))
}
