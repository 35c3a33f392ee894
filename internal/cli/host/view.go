package host

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/detect/backend"
)

// viewOptions say how to show an inventory.
type viewOptions struct {
	output             term.Format
	noHeaders, summary bool
}

func addView(command *cobra.Command, o *viewOptions) {
	flags := command.Flags()
	flags.VarP(newDeviceOutput(&o.output), "output", "o", "output format; columns and paths are applied to each device, with its readings")
	flags.BoolVar(&o.noHeaders, "no-headers", false, "print the rows of the devices alone")
	flags.BoolVar(&o.summary, "summary", false, "print counts and sums instead of the devices")
	term.Complete(command, "output", deviceFormats)
}

// formatTSV prints devices a line each, with tabs between their values.
const formatTSV term.Format = "tsv"

// deviceFormats are the formats of detect.
var deviceFormats = slices.Insert(slices.Clone(term.NamedFormats), 4, formatTSV)

// deviceOutput is the value of detect's --output, whose templates are for one device.
type deviceOutput struct{ pflag.Value }

func newDeviceOutput(f *term.Format) pflag.Value {
	return deviceOutput{term.OneOf(f, deviceFormats...)}
}

// Set takes one of the formats.
func (o deviceOutput) Set(text string) error {
	if name, template, _ := term.Format(text).Cut(); name == term.FormatPath {
		for _, root := range []string{".status", ".spec", ".metadata", ".items"} {
			if strings.Contains(template, "{"+root) {
				return fmt.Errorf("template %q: a device has no %s: the template is applied to each device: write '{.id}', or use -o json for the whole inventory", template, root)
			}
		}
	}
	return o.Value.Set(text)
}

// watchable says whether changes can follow what is printed.
func (o *viewOptions) watchable() bool {
	return !o.summary && !o.noHeaders && slices.Contains([]term.Format{term.FormatTable, term.FormatWide, term.FormatJSON, term.FormatYAML}, o.output)
}

// writeTo shows an inventory.
func (o *viewOptions) writeTo(streams term.Streams, shown *v1alpha1.AcceleratorInventory, readings backend.Readings) error {
	devices := withReadings(shown.Status.Devices, readings)
	var object any = documentOf(shown, devices)
	_, _, argued := o.output.Cut()
	switch {
	case o.summary:
		object = summaryOf(shown)
	case argued:
		objects, err := term.Decode[[]term.Object](devices)
		if err != nil {
			return err
		}
		return term.WriteRows(streams.Out, o.output, objects, !o.noHeaders)
	case o.output == term.FormatName:
		object = deviceNames(devices)
	}
	return streams.Write(o.output, object, func(p *term.Page) { o.show(p, shown, devices) })
}

// show writes an inventory for people, or devices a line each.
func (o *viewOptions) show(p *term.Page, shown *v1alpha1.AcceleratorInventory, devices []liveDevice) {
	switch {
	case o.summary:
		printSummary(p, shown, !o.noHeaders)
	case o.output == formatTSV:
		header, rows := cellsOf(tsvColumns, devices)
		if !o.noHeaders {
			rows = slices.Insert(rows, 0, header)
		}
		for _, row := range rows {
			for i, cell := range row {
				row[i] = term.Printable(cell)
			}
			p.Raw(strings.Join(row, "\t"))
		}
	default:
		printInventory(p, shown, devices, o.output.Wide(), !o.noHeaders)
	}
}

// deviceNames are devices of which only the ids are printed.
type deviceNames []liveDevice

// Names are the ids.
func (d deviceNames) Names() []string {
	names := make([]string, len(d))
	for i := range d {
		names[i] = string(d[i].ID)
	}
	return names
}

// inventoryDocument is an inventory as -o json and yaml print it: as the node agent would write it, with the present readings of
// each device, which are no part of the API.
type inventoryDocument struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   v1alpha1.AcceleratorInventorySpec `json:"spec,omitzero"`
	Status statusDocument                    `json:"status,omitzero"`
}

type statusDocument struct {
	v1alpha1.AcceleratorInventoryStatus `json:",inline"`

	// Devices replace the devices of the status.
	Devices []liveDevice `json:"devices,omitempty"`
}

// liveDevice is a device with its present readings.
type liveDevice struct {
	*v1alpha1.Device `json:",inline"`

	Readings backend.Reading `json:"readings,omitzero"`
}

// withReadings adds its readings to each device.
func withReadings(devices []v1alpha1.Device, readings backend.Readings) []liveDevice {
	live := make([]liveDevice, len(devices))
	for i := range devices {
		live[i] = liveDevice{&devices[i], readings[devices[i].ID]}
	}
	return live
}

func documentOf(shown *v1alpha1.AcceleratorInventory, devices []liveDevice) inventoryDocument {
	return inventoryDocument{
		TypeMeta: shown.TypeMeta, ObjectMeta: shown.ObjectMeta, Spec: shown.Spec,
		Status: statusDocument{AcceleratorInventoryStatus: shown.Status, Devices: devices},
	}
}
