package host

import (
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/inventory"
)

// tell prints what is otherwise than at the last look, or the whole inventory anew for machines. In the wide table readings are
// shown, so their changes are, too.
func (d *detection) tell(last, now *scan) error {
	before, after := &last.inventory.Status, &now.inventory.Status
	if d.view.output.Machine() {
		if len(inventory.Diff(before, after)) == 0 && equality.Semantic.DeepEqual(last.readings, now.readings) {
			return nil
		}
		if d.view.output == term.FormatYAML {
			_, _ = fmt.Fprintln(d.streams.Out, "---")
		}
		return d.view.writeTo(d.streams, now.inventory, now.readings)
	}
	changes := inventory.Diff(inSteps(before), inSteps(after))
	if d.view.output.Wide() {
		changes = append(changes, readingChanges(last, now)...)
	}
	return printChanges(d.streams.Out, d.now(), changes, now.inventory)
}

// readingChanges are the changes of readings of the devices that were there before, as the table shows them.
func readingChanges(last, now *scan) []inventory.Change {
	var changes []inventory.Change
	for _, d := range withReadings(now.inventory.Status.Devices, now.readings) {
		before := liveDevice{last.inventory.Status.Device(d.ID), last.readings[d.ID]}
		if before.Device == nil {
			continue
		}
		var fields []inventory.FieldChange
		for _, column := range readingColumns {
			if was, is := column.value(before), column.value(d); was != is {
				fields = append(fields, inventory.FieldChange{Field: strings.ToLower(column.header), Old: was, New: is})
			}
		}
		if len(fields) > 0 {
			changes = append(changes, inventory.Change{Kind: inventory.Changed, What: "Device", Name: string(d.ID), Fields: fields})
		}
	}
	return changes
}

// printChanges prints a line for each change: + for what came, - for what went, ~ for what is otherwise than before.
func printChanges(w io.Writer, now time.Time, changes []inventory.Change, shown *v1alpha1.AcceleratorInventory) error {
	for _, change := range changes {
		line := fmt.Sprintf("%s %s %s %s", change.Kind, now.Format(time.TimeOnly), strings.ToLower(change.What), change.Name)
		if about := aboutChange(change, shown); about != "" {
			line += ": " + about
		}
		if _, err := fmt.Fprintln(w, term.Printable(line)); err != nil {
			return err
		}
	}
	return nil
}

func aboutChange(change inventory.Change, shown *v1alpha1.AcceleratorInventory) string {
	if d := shown.Status.Device(v1alpha1.DeviceID(change.Name)); change.Kind == inventory.Added && d != nil {
		return aboutDevice(d)
	}
	parts := make([]string, len(change.Fields))
	for i, field := range change.Fields {
		parts[i] = fmt.Sprintf("%s %s -> %s", field.Field, changedValue(field.Old), changedValue(field.New))
	}
	return strings.Join(parts, ", ")
}

func aboutDevice(d *v1alpha1.Device) string {
	var parts []string
	if d.Product != "" {
		parts = append(parts, d.Product)
	}
	if d.Memory != nil {
		parts = append(parts, words.HumanMiB(d.Memory.TotalMiB))
	}
	return strings.Join(append(parts, string(d.Health.State)), ", ")
}

// maxChangedValue keeps long lists from hiding the rest of a line.
const maxChangedValue = 96

func changedValue(value string) string {
	if value == "" {
		return "-"
	}
	return words.Shorten(value, maxChangedValue)
}
