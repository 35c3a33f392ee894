package survey

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/inventory"
)

// difference is something that a view finds differently from the fullest one, once for all things of which it is true.
type difference struct {
	kind inventory.ChangeKind
	// what is the kind of the things (Device, Link, NIC, Disk, Backend, Host), names are their names.
	what  string
	names []string
	// field is what differs, with the values of the first of them; empty where the things were added or removed.
	field inventory.FieldChange
}

// differences returns what view shows differently from than, the fullest view.
func differences(than, view *v1alpha1.AcceleratorInventoryStatus) []difference {
	var found []difference
	for _, change := range inventory.Diff(than, view) {
		fields := change.Fields
		if change.Kind != inventory.Changed {
			fields = []inventory.FieldChange{{}}
		}
		for _, field := range fields {
			same := slices.IndexFunc(found, func(d difference) bool {
				return d.kind == change.Kind && d.what == change.What && d.field.Field == field.Field && (d.field == field || perDevice[field.Field])
			})
			if same < 0 {
				found, same = append(found, difference{kind: change.Kind, what: change.What, field: field}), len(found)
			}
			found[same].names = append(found[same].names, change.Name)
		}
	}
	slices.SortStableFunc(found, func(a, b difference) int { return cmp.Compare(a.what, b.what) })
	return found
}

// perDevice are fields with another value for each device.
var perDevice = map[string]bool{"uuid": true, "index": true, "paths": true, "firmwareVersion": true}

// String returns the difference as a line of the report.
func (d difference) String() string {
	things := d.what + " " + d.names[0]
	if more := len(d.names) - 1; more > 0 {
		things += fmt.Sprintf(" and %d more", more)
	}
	switch d.kind {
	case inventory.Added:
		return "+ " + things
	case inventory.Removed:
		return "- " + things
	default:
		return fmt.Sprintf("~ %s: %s: %s -> %s", things, d.field.Field, cmp.Or(d.field.Old, "nothing"), cmp.Or(d.field.New, "nothing"))
	}
}
