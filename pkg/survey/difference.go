package survey

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rankwright/rankwright/pkg/inventory"
)

// Difference is something that a view finds differently from another, once for all things of which it is true.
type Difference struct {
	// View finds it differently from Than.
	View, Than string
	Kind       inventory.ChangeKind
	// What is the kind of the things (Device, Link, NIC, Disk, Backend, Host), Names are their names.
	What  string
	Names []string
	// Field is what differs, of the first of them from Old to New; empty where the things were added or removed.
	Field, Old, New string
}

// differences returns what view shows differently from than, the fullest view.
func differences(than, view *View) []Difference {
	var found []Difference
	add := func(d Difference, name string) {
		same := slices.IndexFunc(found, func(f Difference) bool {
			return f.Kind == d.Kind && f.What == d.What && f.Field == d.Field && (f.Old == d.Old && f.New == d.New || perDevice[d.Field])
		})
		if same < 0 {
			found, same = append(found, d), len(found)
		}
		found[same].Names = append(found[same].Names, name)
	}
	for _, change := range inventory.Diff(&than.Status, &view.Status) {
		d := Difference{View: view.Name, Than: than.Name, Kind: change.Kind, What: change.What}
		if change.Kind != inventory.Changed {
			add(d, change.Name)
		}
		for _, field := range change.Fields {
			d.Field, d.Old, d.New = field.Field, field.Old, field.New
			add(d, change.Name)
		}
	}
	slices.SortStableFunc(found, func(a, b Difference) int { return cmp.Compare(a.What, b.What) })
	return found
}

// perDevice are fields with another value for each device.
var perDevice = map[string]bool{"uuid": true, "index": true, "paths": true, "firmwareVersion": true}

// String returns the difference as a line of the report.
func (d Difference) String() string {
	things := d.What + " " + d.Names[0]
	if more := len(d.Names) - 1; more > 0 {
		things += fmt.Sprintf(" and %d more", more)
	}
	switch d.Kind {
	case inventory.Added:
		return "+ " + things
	case inventory.Removed:
		return "- " + things
	default:
		return fmt.Sprintf("~ %s: %s: %s -> %s", things, d.Field, cmp.Or(d.Old, "nothing"), cmp.Or(d.New, "nothing"))
	}
}
