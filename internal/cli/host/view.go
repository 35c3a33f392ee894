package host

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/detect/backend"
)

// viewOptions say how to show an inventory.
type viewOptions struct {
	output             deviceFormat
	noHeaders, summary bool
}

func addView(command *cobra.Command, o *viewOptions) {
	o.output.name = term.FormatTable
	flags := command.Flags()
	flags.VarP(&o.output, "output", "o", "output format; columns and paths are applied to each device, with its readings")
	flags.BoolVar(&o.noHeaders, "no-headers", false, "print the rows of the devices alone")
	flags.BoolVar(&o.summary, "summary", false, "print counts and sums instead of the devices")
	term.Complete(command, "output", deviceFormats)
}

// deviceFormat is the value of detect's --output: a name, and what follows its equals sign.
type deviceFormat struct {
	name     term.Format
	argument string
	// rows prints devices where the argument says how.
	rows rowPrinter
}

// rowPrinter prints devices, as objects.
type rowPrinter func(w io.Writer, devices []deviceObject, headers bool) error

const (
	formatTSV     term.Format = "tsv"
	formatName    term.Format = "name"
	formatColumns term.Format = "custom-columns"
	formatPath    term.Format = "jsonpath"
)

// argumentFormats are the formats that need an argument, with what understands it.
var argumentFormats = map[term.Format]func(string) (rowPrinter, error){
	formatColumns: parseColumns,
	formatPath:    parsePath,
}

// deviceFormats are the formats, and how those begin that need an argument.
var deviceFormats = append(slices.Clone(term.Formats), formatTSV, formatName, formatColumns+"=", formatPath+"=")

// String, Set and Type make it a flag.
func (f *deviceFormat) String() string {
	if f.argument == "" {
		return string(f.name)
	}
	return string(f.name) + "=" + f.argument
}

// Set takes one of the formats.
func (f *deviceFormat) Set(text string) error {
	name, argument, _ := strings.Cut(text, "=")
	made := deviceFormat{name: term.Format(name), argument: argument}
	if parse, ok := argumentFormats[made.name]; ok {
		var err error
		if made.rows, err = parse(argument); err != nil {
			return err
		}
	} else if !slices.Contains(deviceFormats, term.Format(text)) {
		return fmt.Errorf("use one of %s", term.Joined(deviceFormats, ", "))
	}
	*f = made
	return nil
}

// Type returns what the help shows as the type of the value.
func (f *deviceFormat) Type() string { return term.Joined(deviceFormats, "|") }

// watchable says whether changes can follow what is printed.
func (o *viewOptions) watchable() bool {
	return !o.summary && !o.noHeaders && slices.Contains(term.Formats, o.output.name)
}

// writeTo shows an inventory.
func (o *viewOptions) writeTo(w io.Writer, shown *v1alpha1.AcceleratorInventory, readings backend.Readings) error {
	devices := withReadings(shown.Status.Devices, readings)
	var object any = documentOf(shown, devices)
	switch {
	case o.summary:
		object = summaryOf(shown)
	case o.output.rows != nil:
		objects, err := objectsOf(devices)
		if err != nil {
			return err
		}
		return o.output.rows(w, objects, !o.noHeaders)
	}
	return term.Write(w, o.output.name, object, func(p *term.Page) { o.show(p, shown, devices) })
}

// show writes an inventory for people, or devices a line each.
func (o *viewOptions) show(p *term.Page, shown *v1alpha1.AcceleratorInventory, devices []liveDevice) {
	switch {
	case o.summary:
		printSummary(p, shown, !o.noHeaders)
	case o.output.name == formatName:
		for _, d := range devices {
			p.Raw(string(d.ID))
		}
	case o.output.name == formatTSV:
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
		printInventory(p, shown, devices, o.output.name.Wide(), !o.noHeaders)
	}
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
