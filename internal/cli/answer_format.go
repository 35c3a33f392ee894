package cli

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// answerFormat is the value of --output of commands that can explain their answer.
type answerFormat string

// answerExplain prints the arithmetic behind an answer.
const answerExplain answerFormat = "explain"

var answerFormats = slices.Concat(formats, []string{string(answerExplain)})

// String, Set and Type make it a flag.
func (f *answerFormat) String() string { return string(*f) }

// Set takes one of the formats.
func (f *answerFormat) Set(text string) error {
	if !slices.Contains(answerFormats, text) {
		return fmt.Errorf("use one of %s", strings.Join(answerFormats, ", "))
	}
	*f = answerFormat(text)
	return nil
}

// Type is shown in the help.
func (f *answerFormat) Type() string { return strings.Join(answerFormats, "|") }

// machine says whether programs read the output.
func (f *answerFormat) machine() bool {
	return *f == answerFormat(formatJSON) || *f == answerFormat(formatYAML)
}

// addAnswerOutput adds --output, a table unless said otherwise.
func addAnswerOutput(command *cobra.Command, f *answerFormat) {
	*f = answerFormat(formatTable)
	command.Flags().VarP(f, "output", "o", "output format")
	complete(command, "output", answerFormats)
}

// answer is what a command prints in one of the formats.
type answer struct {
	object   any
	table    func(w io.Writer, wide bool) error
	explain  func(io.Writer) error
	warnings []string
}

// print writes an answer; its warnings go to the errors where people read the output, and are in the object elsewhere.
func (a *answer) print(streams Streams, f answerFormat) error {
	if !f.machine() {
		for _, warning := range a.warnings {
			_, _ = fmt.Fprintf(streams.Err, "warning: %s\n", printable(warning))
		}
	}
	return write(streams.Out, format(f), a.object, func(w io.Writer) error {
		if err := a.table(w, f == answerFormat(formatWide)); err != nil || f != answerExplain {
			return err
		}
		return a.explain(w)
	})
}

// paragraphs prints parts with an empty line between them.
func paragraphs(w io.Writer, parts ...func(io.Writer) error) error {
	first := true
	for _, part := range parts {
		var text bytes.Buffer
		if err := part(&text); err != nil {
			return err
		}
		if text.Len() == 0 {
			continue
		}
		if !first {
			if _, err := fmt.Fprintln(w); err != nil {
				return err
			}
		}
		first = false
		if _, err := w.Write(text.Bytes()); err != nil {
			return err
		}
	}
	return nil
}
