package podresources

import (
	"cmp"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// MaxAllocations is how many rows an inventory holds, as its schema says.
const MaxAllocations = 1024

// Allocations are the rows of an inventory, in order, and what the rows do not have.
type Allocations struct {
	Rows []v1alpha1.Allocation
	// Unknown are names of accelerators that pods hold and that nothing tells which they are.
	Unknown []Name
	// Omitted is the number of rows beyond MaxAllocations. Every device that is held has a row before any has two.
	Omitted int
}

// Allocations says which container holds which device. Shares of one device that a container holds are one row.
func (h *Hardware) Allocations(grants []Grant) Allocations {
	var a Allocations
	for _, g := range grants {
		if monitoring(g.Name.Resource) {
			continue
		}
		found := h.Find(g.Name)
		if len(found) == 0 && expected(g.Name) {
			a.Unknown = append(a.Unknown, g.Name)
		}
		for _, id := range found {
			a.Rows = append(a.Rows, v1alpha1.Allocation{
				Device: id, Namespace: g.Namespace, Pod: g.Pod, Container: g.Container, Resource: g.Name.Resource,
			})
		}
	}
	slices.SortFunc(a.Unknown, compareNames)
	a.Unknown = slices.Compact(a.Unknown)
	a.Rows, a.Omitted = bounded(a.Rows)
	return a
}

// Join adds rows to others, in order and each once, as far as an inventory holds them.
func Join(rows, more []v1alpha1.Allocation) []v1alpha1.Allocation {
	joined, _ := bounded(append(slices.Clone(rows), more...))
	return joined
}

func bounded(rows []v1alpha1.Allocation) (kept []v1alpha1.Allocation, omitted int) {
	slices.SortFunc(rows, compareRows)
	rows = slices.Compact(rows)
	if len(rows) <= MaxAllocations {
		return rows, 0
	}
	var first, others []v1alpha1.Allocation
	for i, row := range rows {
		if i == 0 || rows[i-1].Device != row.Device {
			first = append(first, row)
		} else {
			others = append(others, row)
		}
	}
	kept = append(first, others...)[:MaxAllocations]
	slices.SortFunc(kept, compareRows)
	return kept, len(rows) - MaxAllocations
}

func compareRows(a, b v1alpha1.Allocation) int {
	return cmp.Or(cmp.Compare(a.Device, b.Device), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Pod, b.Pod),
		cmp.Compare(a.Container, b.Container), cmp.Compare(a.Resource, b.Resource))
}
