package accelerator

// row is a product with what is needed to find it.
type row struct {
	Product
	// vendorID is the PCI vendor; empty where the product is not on PCI.
	vendorID string
	// sizes are the nominal memories in MiB, ascending; several where the product is sold in several sizes.
	sizes []int64
}

// memoryTolerance is the divisor of the nominal memory within which a reported one may differ from it. ECC and firmware
// take up to 1/16 (46068 of 49152 MiB on an L40S), and the nearest sizes of two products with one id are 1/6 apart (20
// and 24 GiB).
const memoryTolerance = 8

// reports says whether a device of the entry reports so much memory; false where none is known.
func (e *entry) reports(memoryMiB int64) bool {
	size := e.memoryMiB
	if size == 0 {
		size = e.row.nominal(memoryMiB)
	}
	return memoryMiB > 0 && size > 0 && distance(size, memoryMiB) <= size/memoryTolerance
}

// nominal returns the product's memory that is nearest to the reported one, else its smallest; 0 where the product has no
// memory of its own.
func (r *row) nominal(memoryMiB int64) int64 {
	if len(r.sizes) == 0 {
		return 0
	}
	best := r.sizes[0]
	if memoryMiB <= 0 {
		return best
	}
	for _, size := range r.sizes[1:] {
		if distance(size, memoryMiB) < distance(best, memoryMiB) {
			best = size
		}
	}
	return best
}

// madeBy says whether the product may carry the PCI vendor id; either may be unknown.
func (r *row) madeBy(vendorID string) bool {
	return vendorID == "" || r.vendorID == "" || r.vendorID == vendorID
}

// distance is |a-b| for values that are not negative.
func distance(a, b int64) int64 { return max(a, b) - min(a, b) }
