package term

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"unicode"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"
)

// Format is the value of --output.
type Format string

// The formats.
const (
	FormatTable Format = "table"
	FormatWide  Format = "wide"
	FormatJSON  Format = "json"
	FormatYAML  Format = "yaml"
)

// Formats are the formats of objects.
var Formats = []string{string(FormatTable), string(FormatWide), string(FormatJSON), string(FormatYAML)}

// String returns the format as it is typed.
func (f *Format) String() string { return string(*f) }

// Set takes one of the formats.
func (f *Format) Set(text string) error {
	if !slices.Contains(Formats, text) {
		return fmt.Errorf("use one of %s", strings.Join(Formats, ", "))
	}
	*f = Format(text)
	return nil
}

// Type returns what the help shows as the type of the value.
func (f *Format) Type() string { return strings.Join(Formats, "|") }

// Wide says whether the table has all its columns.
func (f *Format) Wide() bool { return *f == FormatWide }

// AddOutput adds --output, a table unless said otherwise.
func AddOutput(command *cobra.Command, f *Format) {
	*f = FormatTable
	command.Flags().VarP(f, "output", "o", "output format")
	Complete(command, "output", Formats)
}

// Complete offers fixed values for a flag in the shell.
func Complete(command *cobra.Command, flag string, values []string) {
	// It fails only for a flag that the command does not have, which every test of the command shows.
	_ = command.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// Write prints an object in a format for machines, else by table.
func Write(w io.Writer, f Format, object any, table func(io.Writer) error) error {
	var out bytes.Buffer
	switch f {
	case FormatJSON:
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(object); err != nil {
			return fmt.Errorf("print as JSON: %w", err)
		}
	case FormatYAML:
		text, err := yaml.Marshal(object)
		if err != nil {
			return fmt.Errorf("print as YAML: %w", err)
		}
		out.Write(text)
	default:
		if err := table(&out); err != nil {
			return err
		}
	}
	if _, err := w.Write(out.Bytes()); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	return nil
}

// Table prints rows under a header as kubectl does: columns three blanks apart, nothing at the end of a line. Without a
// header it prints the rows alone.
func Table(w io.Writer, header []string, rows [][]string) error {
	return Grid(w, header, rows, TableGap)
}

// TableGap is how many blanks stand between columns.
const TableGap = 3

// Grid prints a table whose columns are gap blanks apart.
func Grid(w io.Writer, header []string, rows [][]string, gap int) error {
	var out bytes.Buffer
	columns := tabwriter.NewWriter(&out, 0, 8, gap, ' ', 0)
	if len(header) > 0 {
		rows = slices.Concat([][]string{header}, rows)
	}
	for _, row := range rows {
		cells := slices.Clone(row)
		for i, cell := range cells {
			if cells[i] = Printable(cell); cell == "" {
				cells[i] = "-"
			}
		}
		_, _ = fmt.Fprintln(columns, strings.Join(cells, "\t"))
	}
	if err := columns.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(out.String()) {
		if _, err := fmt.Fprintln(w, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

// Printable replaces what would move the cursor or change the terminal: names come from hardware and files.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, text)
}
