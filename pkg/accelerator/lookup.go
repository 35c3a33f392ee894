package accelerator

import "strings"

// pciID is a vendor and device id.
type pciID struct{ vendor, device string }

// entry is one way to a row: an id or a name, with what else must hold. A constraint that is empty always holds.
type entry struct {
	row                 *row
	revision, subsystem string
	// memoryMiB is what a device reports where that differs from the memory of the row; else 0.
	memoryMiB int64
}

// Lookup finds the product of a device, or says that the catalogue does not have it: a row is only returned where
// nothing that the key says speaks for another product. The peak rates of the result are shared; copy them before
// changing any.
//
// The PCI id comes first. Where it stands for several products, the revision or the subsystem decides, then the reported
// name, then the memory. A device whose id is unknown is looked up by its name.
func Lookup(key Key) (Product, bool) {
	c, err := load()
	if err != nil {
		return Product{}, false
	}
	vendor, device := hex(key.VendorID), hex(key.DeviceID)
	if entries := c.byID[pciID{vendor, device}]; len(entries) > 0 {
		return answer(decide(entries, key), key)
	}
	entries := c.named(key.Product)
	if len(entries) == 0 || !entries[0].row.madeBy(vendor) {
		return Product{}, false
	}
	return answer(decide(entries, key), key)
}

// decide picks the entry that fits the key, or nil where the key does not say enough.
func decide(entries []entry, key Key) *row {
	if len(entries) == 1 && entries[0].revision == "" && entries[0].subsystem == "" {
		return entries[0].row
	}
	revision, subsystem := hex(key.Revision), hex(key.SubsystemDeviceID)
	for i := range entries {
		if entries[i].proven(revision, subsystem) {
			return entries[i].row
		}
	}
	if r := onlyOne(entries, revision, subsystem, func(e *entry) bool { return sameName(e.row.Name, key.Product) }); r != nil {
		return r
	}
	return onlyOne(entries, revision, subsystem, func(e *entry) bool { return e.reports(key.MemoryMiB) })
}

// onlyOne returns the row that matches and that the ids do not exclude, if there is exactly one.
func onlyOne(entries []entry, revision, subsystem string, match func(*entry) bool) *row {
	var found *row
	for i := range entries {
		e := &entries[i]
		if e.excluded(revision, subsystem) || !match(e) {
			continue
		}
		if found != nil {
			return nil
		}
		found = e.row
	}
	return found
}

// proven says whether the entry has constraints and all of them hold.
func (e *entry) proven(revision, subsystem string) bool {
	return (e.revision != "" || e.subsystem != "") &&
		(e.revision == "" || e.revision == revision) &&
		(e.subsystem == "" || e.subsystem == subsystem)
}

// excluded says whether the known revision or subsystem contradicts a constraint.
func (e *entry) excluded(revision, subsystem string) bool {
	return e.revision != "" && revision != "" && e.revision != revision ||
		e.subsystem != "" && subsystem != "" && e.subsystem != subsystem
}

func answer(r *row, key Key) (Product, bool) {
	if r == nil {
		return Product{}, false
	}
	product := r.Product
	product.MemoryMiB = r.nominal(key.MemoryMiB)
	return product, true
}

// hex brings an id to the kernel's form without its 0x.
func hex(id string) string { return strings.TrimPrefix(strings.ToLower(id), "0x") }
