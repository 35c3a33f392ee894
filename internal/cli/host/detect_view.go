package host

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/detect/backend"
)

// viewOptions say how to show an inventory.
type viewOptions struct {
	output    deviceFormat
	noHeaders bool
	summary   bool
}

func addView(command *cobra.Command, o *viewOptions) {
	o.output = deviceFormat{name: string(term.FormatTable)}
	flags := command.Flags()
	flags.VarP(&o.output, "output", "o", "output format; columns and paths are applied to each device, with its readings")
	flags.BoolVar(&o.noHeaders, "no-headers", false, "print the rows of the devices alone")
	flags.BoolVar(&o.summary, "summary", false, "print counts and sums instead of the devices")
	term.Complete(command, "output", deviceFormatNames())
}

// deviceFormat is the value of detect's --output: a name, and what follows its equals sign.
type deviceFormat struct {
	name, argument string
	// rows prints devices where the argument says how.
	rows rowPrinter
}

// rowPrinter prints devices, as objects.
type rowPrinter interface {
	writeTo(w io.Writer, devices []deviceObject, headers bool) error
}

const (
	formatTSV     = "tsv"
	formatName    = "name"
	formatColumns = "custom-columns"
	formatPath    = "jsonpath"
)

// argumentFormats are the formats that need an argument, with what understands it.
var argumentFormats = map[string]func(string) (rowPrinter, error){
	formatColumns: func(argument string) (rowPrinter, error) { return parseColumns(argument) },
	formatPath:    func(argument string) (rowPrinter, error) { return parsePath(argument) },
}

func deviceFormatNames() []string {
	return append(slices.Clone(term.Formats), formatTSV, formatName, formatColumns+"=", formatPath+"=")
}

// String, Set and Type make it a flag.
func (f *deviceFormat) String() string {
	if f.argument == "" {
		return f.name
	}
	return f.name + "=" + f.argument
}

// Set takes one of the formats.
func (f *deviceFormat) Set(text string) error {
	name, argument, _ := strings.Cut(text, "=")
	parse, takesArgument := argumentFormats[name]
	switch {
	case takesArgument:
		rows, err := parse(argument)
		if err != nil {
			return err
		}
		*f = deviceFormat{name: name, argument: argument, rows: rows}
	case slices.Contains(deviceFormatNames(), text):
		*f = deviceFormat{name: text}
	default:
		return fmt.Errorf("use one of %s", strings.Join(deviceFormatNames(), ", "))
	}
	return nil
}

// Type returns what the help shows as the type of the value.
func (f *deviceFormat) Type() string { return strings.Join(deviceFormatNames(), "|") }

// machine says whether the output is the whole inventory, for programs.
func (f *deviceFormat) machine() bool {
	return f.name == string(term.FormatJSON) || f.name == string(term.FormatYAML)
}

func (f *deviceFormat) table() bool {
	return f.name == string(term.FormatTable) || f.name == string(term.FormatWide)
}

// watchable says whether changes can follow what is printed.
func (o *viewOptions) watchable() bool {
	return !o.summary && !o.noHeaders && (o.output.machine() || o.output.table())
}

// writeTo shows an inventory.
func (o *viewOptions) writeTo(w io.Writer, shown v1alpha1.AcceleratorInventory, readings backend.Readings) error {
	devices := shown.Status.Devices
	switch {
	case o.summary:
		return o.printSummary(w, &shown)
	case o.output.rows != nil:
		objects, err := objectsOf(devices, readings)
		if err != nil {
			return err
		}
		return o.output.rows.writeTo(w, objects, !o.noHeaders)
	case o.output.name == formatName:
		for i := range devices {
			if _, err := fmt.Fprintln(w, devices[i].ID); err != nil {
				return err
			}
		}
		return nil
	case o.output.name == formatTSV:
		return printTSV(w, devices, readings, !o.noHeaders)
	}
	return term.Write(w, term.Format(o.output.name), documentOf(&shown, readings), func(w io.Writer) error {
		return printInventory(w, &shown, readings, o.output.name == string(term.FormatWide), !o.noHeaders)
	})
}

// writeNext shows an inventory after another one.
func (o *viewOptions) writeNext(w io.Writer, shown v1alpha1.AcceleratorInventory, readings backend.Readings) error {
	if o.output.name == string(term.FormatYAML) {
		if _, err := fmt.Fprintln(w, "---"); err != nil {
			return err
		}
	}
	return o.writeTo(w, shown, readings)
}
