package host

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/inventory"
)

// look is what was shown of one look at the host.
type look struct {
	shown    v1alpha1.AcceleratorInventory
	readings backend.Readings
}

// follow prints what changes from one look to the next.
func (d *detection) follow(ctx context.Context, last look) error {
	for d.pause(ctx) {
		found, err := d.look(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		shown, _ := d.selects.apply(found.inventory)
		now := look{shown, found.readings}
		if err := d.tell(last, now); err != nil {
			return err
		}
		if d.timings {
			if err := printTimings(d.streams.Err, found.times, found.elapsed); err != nil {
				return err
			}
		}
		if err := d.alarm(shown.Status.Devices, found.readings); err != nil {
			return err
		}
		last = now
	}
	return nil
}

// tell prints what is otherwise than at the last look, or the whole inventory anew for machines. In the wide table readings are
// shown, so their changes are, too.
func (d *detection) tell(last, now look) error {
	if d.view.output.machine() {
		if len(inventory.Diff(&last.shown.Status, &now.shown.Status)) == 0 && equality.Semantic.DeepEqual(last.readings, now.readings) {
			return nil
		}
		return d.view.writeNext(d.streams.Out, now.shown, now.readings)
	}
	changes := inventory.Diff(inSteps(&last.shown.Status), inSteps(&now.shown.Status))
	if d.view.output.name == string(term.FormatWide) {
		changes = append(changes, readingChanges(last, now)...)
	}
	return printChanges(d.streams.Out, d.now(), changes, &now.shown)
}

// readingChanges are the changes of readings of the devices that were there before, as the table shows them.
func readingChanges(last, now look) []inventory.Change {
	var changes []inventory.Change
	for i := range now.shown.Status.Devices {
		id := now.shown.Status.Devices[i].ID
		if last.shown.Status.Device(id) == nil {
			continue
		}
		before, after := readingCells(last.readings[id]), readingCells(now.readings[id])
		var fields []inventory.FieldChange
		for column, name := range readingColumns {
			if before[column] != after[column] {
				fields = append(fields, inventory.FieldChange{Field: strings.ToLower(name), Old: before[column], New: after[column]})
			}
		}
		if len(fields) > 0 {
			changes = append(changes, inventory.Change{Kind: inventory.Changed, What: "Device", Name: string(id), Fields: fields})
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
	parts := []string{}
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
