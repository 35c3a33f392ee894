package inventory

import (
	"cmp"
	"maps"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// ChangeKind is what happened to something.
type ChangeKind string

// The kinds of change, as people mark them.
const (
	Added   ChangeKind = "+"
	Removed ChangeKind = "-"
	Changed ChangeKind = "~"
)

// Change is a difference in one thing between two inventories.
type Change struct {
	Kind ChangeKind `json:"kind"`
	// What is Device, Link, NIC, Disk, Backend, Host or Allocation.
	What string `json:"what"`
	// Name is the thing's key in the inventory.
	Name string `json:"name"`
	// Fields are the fields that changed, in order of their names; empty for a thing that was added or removed.
	Fields []FieldChange `json:"fields,omitempty"`
}

// FieldChange is a field that differs; a value is empty where the field was not or is not there.
type FieldChange struct {
	Field string `json:"field"`
	Old   string `json:"old,omitempty"`
	New   string `json:"new,omitempty"`
}

// Diff returns the differences between two states of a host, devices first, each kind in order of the names. Sums and
// times of changes are left out, since they follow from the rest.
func Diff(older, newer *v1alpha1.AcceleratorInventoryStatus) []Change {
	before, after := things(older), things(newer)
	var changes []Change
	for t := range either(before, after) {
		was, now := before[t], after[t]
		switch {
		case now == nil:
			changes = append(changes, Change{Kind: Removed, What: t.what, Name: t.name})
		case was == nil:
			changes = append(changes, Change{Kind: Added, What: t.what, Name: t.name})
		default:
			if fields := fieldChanges(was, now); len(fields) > 0 {
				changes = append(changes, Change{Kind: Changed, What: t.what, Name: t.name, Fields: fields})
			}
		}
	}
	slices.SortFunc(changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(slices.Index(whats, a.What), slices.Index(whats, b.What)), cmp.Compare(a.Name, b.Name))
	})
	return changes
}

func fieldChanges(before, after flat) []FieldChange {
	var changes []FieldChange
	for field := range either(before, after) {
		if before[field] != after[field] {
			changes = append(changes, FieldChange{Field: field, Old: before[field], New: after[field]})
		}
	}
	slices.SortFunc(changes, func(a, b FieldChange) int { return cmp.Compare(a.Field, b.Field) })
	return changes
}

// either returns the keys that at least one of two maps has.
func either[M ~map[K]V, K comparable, V any](a, b M) map[K]V {
	all := maps.Clone(a)
	maps.Copy(all, b)
	return all
}
