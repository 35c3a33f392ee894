package term

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// AnswerFormat is the value of --output of commands that can explain their answer.
type AnswerFormat string

// AnswerExplain prints the arithmetic behind an answer.
const AnswerExplain AnswerFormat = "explain"

var answerFormats = slices.Concat(Formats, []string{string(AnswerExplain)})

// String returns the format as it is typed.
func (f *AnswerFormat) String() string { return string(*f) }

// Set takes one of the formats.
func (f *AnswerFormat) Set(text string) error {
	if !slices.Contains(answerFormats, text) {
		return fmt.Errorf("use one of %s", strings.Join(answerFormats, ", "))
	}
	*f = AnswerFormat(text)
	return nil
}

// Type returns what the help shows as the type of the value.
func (f *AnswerFormat) Type() string { return strings.Join(answerFormats, "|") }

// machine says whether programs read the output.
func (f *AnswerFormat) machine() bool {
	return *f == AnswerFormat(FormatJSON) || *f == AnswerFormat(FormatYAML)
}

// AddAnswerOutput adds --output, a table unless said otherwise.
func AddAnswerOutput(command *cobra.Command, f *AnswerFormat) {
	*f = AnswerFormat(FormatTable)
	command.Flags().VarP(f, "output", "o", "output format")
	Complete(command, "output", answerFormats)
}

// Answer is what a command prints in one of the formats.
type Answer struct {
	Object   any
	Table    func(w io.Writer, wide bool) error
	Explain  func(io.Writer) error
	Warnings []string
}

// Print writes an answer; its warnings go to the errors where people read the output, and are in the object elsewhere.
func (a *Answer) Print(streams Streams, f AnswerFormat) error {
	if !f.machine() {
		for _, warning := range a.Warnings {
			_, _ = fmt.Fprintf(streams.Err, "warning: %s\n", Printable(warning))
		}
	}
	return Write(streams.Out, Format(f), a.Object, func(w io.Writer) error {
		if err := a.Table(w, f == AnswerFormat(FormatWide)); err != nil || f != AnswerExplain {
			return err
		}
		return a.Explain(w)
	})
}

// Paragraphs prints parts with an empty line between them.
func Paragraphs(w io.Writer, parts ...func(io.Writer) error) error {
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
