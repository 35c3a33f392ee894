package inventory

import (
	"cmp"
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
	for what, things := range before {
		for name, fields := range things {
			now, ok := after[what][name]
			if !ok {
				changes = append(changes, Change{Kind: Removed, What: what, Name: name})
			} else if changed := fieldChanges(fields, now); len(changed) > 0 {
				changes = append(changes, Change{Kind: Changed, What: what, Name: name, Fields: changed})
			}
		}
	}
	for what, things := range after {
		for name := range things {
			if _, ok := before[what][name]; !ok {
				changes = append(changes, Change{Kind: Added, What: what, Name: name})
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
	for field, old := range before {
		if now := after[field]; now != old {
			changes = append(changes, FieldChange{Field: field, Old: old, New: now})
		}
	}
	for field, now := range after {
		if _, ok := before[field]; !ok {
			changes = append(changes, FieldChange{Field: field, New: now})
		}
	}
	slices.SortFunc(changes, func(a, b FieldChange) int { return cmp.Compare(a.Field, b.Field) })
	return changes
}
