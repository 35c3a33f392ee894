package cli

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/inventory"
)

// printChanges prints a line for each change: + for what came, - for what went, ~ for what is otherwise than before.
func printChanges(w io.Writer, now time.Time, changes []inventory.Change, shown *v1alpha1.AcceleratorInventory) error {
	for _, change := range changes {
		line := fmt.Sprintf("%s %s %s %s", change.Kind, now.Format(time.TimeOnly), strings.ToLower(change.What), change.Name)
		if about := aboutChange(change, shown); about != "" {
			line += ": " + about
		}
		if _, err := fmt.Fprintln(w, printable(line)); err != nil {
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
		parts = append(parts, v1alpha1.HumanMiB(d.Memory.TotalMiB))
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
