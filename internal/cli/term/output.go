package term

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

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
	// FormatExplain prints the arithmetic behind an answer, where a command can.
	FormatExplain Format = "explain"
)

// Formats are the formats of objects, AnswerFormats the formats of answers that can be explained.
var (
	Formats       = []Format{FormatTable, FormatWide, FormatJSON, FormatYAML}
	AnswerFormats = append(slices.Clone(Formats), FormatExplain)
)

// Wide says whether the table has all its columns.
func (f Format) Wide() bool { return f == FormatWide }

// Machine says whether programs read the output.
func (f Format) Machine() bool { return f == FormatJSON || f == FormatYAML }

// AddOutput adds --output with some formats, of which the first is meant unless said otherwise.
func AddOutput[F ~string](command *cobra.Command, f *F, formats ...F) {
	*f = formats[0]
	command.Flags().VarP(choice[F]{f, formats}, "output", "o", "output format")
	Complete(command, "output", formats)
}

// Choose adds a flag that takes one of some words, of which the first is meant unless said otherwise.
func Choose[T ~string](command *cobra.Command, flag string, value *T, about string, words ...T) {
	*value = words[0]
	command.Flags().Var(choice[T]{value, words}, flag, about)
	Complete(command, flag, words)
}

// choice is the value of a flag that takes one of some words.
type choice[T ~string] struct {
	value *T
	words []T
}

// String, Set and Type make it a flag.
func (c choice[T]) String() string { return string(*c.value) }

// Set takes one of the words.
func (c choice[T]) Set(text string) error {
	if !slices.Contains(c.words, T(text)) {
		return fmt.Errorf("use one of %s", Joined(c.words, ", "))
	}
	*c.value = T(text)
	return nil
}

// Type returns what the help shows as the type of the value.
func (c choice[T]) Type() string { return Joined(c.words, "|") }

// Joined puts words together, with a separator between them.
func Joined[T ~string](words []T, separator string) string {
	return strings.Join(wordsOf(words), separator)
}

// wordsOf returns words as strings.
func wordsOf[T ~string](words []T) []string {
	list := make([]string, len(words))
	for i, word := range words {
		list[i] = string(word)
	}
	return list
}

// Complete offers fixed values for a flag in the shell.
func Complete[T ~string](command *cobra.Command, flag string, values []T) {
	// It fails only for a flag that the command does not have, which every test of the command shows.
	_ = command.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(wordsOf(values), cobra.ShellCompDirectiveNoFileComp))
}

// Write prints an object in a format for machines, else the page that show puts together.
func Write(w io.Writer, f Format, object any, show func(*Page)) error {
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
		page := Page{Wide: f.Wide()}
		show(&page)
		out.WriteString(page.String())
	}
	if _, err := w.Write(out.Bytes()); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	return nil
}
