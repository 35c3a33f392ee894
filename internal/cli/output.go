package cli

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

// format is the value of --output.
type format string

const (
	formatTable format = "table"
	formatWide  format = "wide"
	formatJSON  format = "json"
	formatYAML  format = "yaml"
)

var formats = []string{string(formatTable), string(formatWide), string(formatJSON), string(formatYAML)}

// String, Set and Type make a format a flag.
func (f *format) String() string { return string(*f) }

// Set takes one of the formats.
func (f *format) Set(text string) error {
	if !slices.Contains(formats, text) {
		return fmt.Errorf("use one of %s", strings.Join(formats, ", "))
	}
	*f = format(text)
	return nil
}

// Type is shown in the help.
func (f *format) Type() string { return strings.Join(formats, "|") }

// wide says whether the table has all its columns.
func (f *format) wide() bool { return *f == formatWide }

// addOutput adds --output, a table unless said otherwise.
func addOutput(command *cobra.Command, f *format) {
	*f = formatTable
	command.Flags().VarP(f, "output", "o", "output format")
	complete(command, "output", formats)
}

// complete offers fixed values for a flag in the shell.
func complete(command *cobra.Command, flag string, values []string) {
	// It fails only for a flag that the command does not have, which every test of the command shows.
	_ = command.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// write prints an object in a format for machines, else by table.
func write(w io.Writer, f format, object any, table func(io.Writer) error) error {
	var out bytes.Buffer
	switch f {
	case formatJSON:
		encoder := json.NewEncoder(&out)
		encoder.SetEscapeHTML(false)
		encoder.SetIndent("", "  ")
		if err := encoder.Encode(object); err != nil {
			return fmt.Errorf("print as JSON: %w", err)
		}
	case formatYAML:
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

// table prints rows under a header as kubectl does: columns three blanks apart, nothing at the end of a line. Without a
// header it prints the rows alone.
func table(w io.Writer, header []string, rows [][]string) error {
	return grid(w, header, rows, tableGap)
}

const tableGap = 3

// grid is a table with columns so many blanks apart.
func grid(w io.Writer, header []string, rows [][]string, gap int) error {
	var out bytes.Buffer
	columns := tabwriter.NewWriter(&out, 0, 8, gap, ' ', 0)
	if len(header) > 0 {
		rows = slices.Concat([][]string{header}, rows)
	}
	for _, row := range rows {
		cells := slices.Clone(row)
		for i, cell := range cells {
			if cells[i] = printable(cell); cell == "" {
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

// printable replaces what would move the cursor or change the terminal: names come from hardware and files.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return '?'
		}
		return r
	}, text)
}
