package term

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/yaml"
)

// Format is the value of --output. Where it takes an argument, that follows the equals sign.
type Format string

// The formats.
const (
	FormatTable Format = "table"
	FormatWide  Format = "wide"
	FormatJSON  Format = "json"
	FormatYAML  Format = "yaml"
	FormatName  Format = "name"
	// FormatColumns prints chosen columns of the items of a list, FormatPath what a template makes of the whole.
	FormatColumns Format = "custom-columns="
	FormatPath    Format = "jsonpath="
	// FormatText prints what was done in words.
	FormatText Format = "text"
	// FormatExplain prints the arithmetic behind an answer, where a command can.
	FormatExplain Format = "explain"
)

// Formats are the formats of what has no name, NamedFormats those of what has one, AnswerFormats those of answers that can be explained, PlanFormats
// those of objects that can, and ChangeFormats those of objects that were changed.
var (
	Formats       = []Format{FormatTable, FormatWide, FormatJSON, FormatYAML, FormatColumns, FormatPath}
	NamedFormats  = slices.Insert(slices.Clone(Formats), 4, FormatName)
	AnswerFormats = append(slices.Clone(Formats), FormatExplain)
	PlanFormats   = append(slices.Clone(NamedFormats), FormatExplain)
	ChangeFormats = []Format{FormatText, FormatJSON, FormatYAML, FormatName, FormatColumns, FormatPath}
)

// Wide says whether the table has all its columns.
func (f Format) Wide() bool { return f == FormatWide }

// Machine says whether programs read the output.
func (f Format) Machine() bool {
	_, _, argued := f.Cut()
	return argued || f == FormatJSON || f == FormatYAML || f == FormatName
}

// Cut returns a format and its argument, and whether it is one that takes an argument.
func (f Format) Cut() (name Format, argument string, argued bool) {
	head, argument, _ := strings.Cut(string(f), "=")
	name = Format(head + "=")
	if _, argued = argumentFormats[name]; !argued {
		return f, "", false
	}
	return name, argument, true
}

// AddOutput adds --output with some formats, of which the first is meant unless said otherwise.
func AddOutput[F ~string](command *cobra.Command, f *F, formats ...F) {
	command.Flags().VarP(OneOf(f, formats...), "output", "o", "output format")
	Complete(command, "output", formats)
}

// OneOf is the value of a flag that takes one of some words, of which the first is meant unless said otherwise.
func OneOf[T ~string](value *T, words ...T) pflag.Value {
	*value = words[0]
	return choice[T]{value, words}
}

// Choose adds a flag that takes one of some words, of which the first is meant unless said otherwise.
func Choose[T ~string](command *cobra.Command, flag string, value *T, about string, words ...T) {
	command.Flags().Var(OneOf(value, words...), flag, about)
	Complete(command, flag, words)
}

// choice is the value of a flag that takes one of some words.
type choice[T ~string] struct {
	value *T
	words []T
}

// String, Set and Type make it a flag.
func (c choice[T]) String() string { return string(*c.value) }

// Set takes one of the words. What follows a format must be what the format takes.
func (c choice[T]) Set(text string) error {
	name, argument, argued := Format(text).Cut()
	if !slices.Contains(c.words, T(name)) {
		return fmt.Errorf("use one of %s", Joined(c.words, ", "))
	}
	if argued {
		if _, err := argumentFormats[name](argument); err != nil {
			return err
		}
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

// encoders print objects in the formats for machines that take no argument.
var encoders = map[Format]func(w *bytes.Buffer, object any) error{FormatJSON: writeJSON, FormatYAML: writeYAML, FormatName: writeNames}

// Write prints an object in a format for machines, else the page that show puts together.
func (s Streams) Write(f Format, object any, show func(*Page)) error {
	return write(s.Out, f, object, show, s.Width)
}

// Write does what Streams.Write does, for what is no terminal.
func Write(w io.Writer, f Format, object any, show func(*Page)) error {
	return write(w, f, object, show, 0)
}

func write(w io.Writer, f Format, object any, show func(*Page), width int) error {
	var out bytes.Buffer
	name, _, argued := f.Cut()
	encode, encoded := encoders[f]
	var err error
	switch {
	case argued:
		var rows []Object
		if rows, err = rowsOf(name, object); err == nil {
			err = WriteRows(&out, f, rows, true)
		}
	case encoded:
		err = encode(&out, object)
	default:
		page := Page{Wide: f.Wide(), Width: width}
		show(&page)
		out.WriteString(page.String())
	}
	if err != nil {
		return err
	}
	if _, err := w.Write(out.Bytes()); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	return nil
}

func writeJSON(out *bytes.Buffer, object any) error {
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(object); err != nil {
		return fmt.Errorf("print as JSON: %w", err)
	}
	return nil
}

func writeYAML(out *bytes.Buffer, object any) error {
	text, err := yaml.Marshal(object)
	if err != nil {
		return fmt.Errorf("print as YAML: %w", err)
	}
	out.Write(text)
	return nil
}

// Named is what says itself how its parts are named, as arguments of commands.
type Named interface{ Names() []string }

// writeNames prints the names of objects as kubectl does, and of what names itself.
func writeNames(out *bytes.Buffer, object any) error {
	if named, is := object.(Named); is {
		for _, name := range named.Names() {
			out.WriteString(name + "\n")
		}
		return nil
	}
	rows, err := rowsOf(FormatColumns, object)
	if err != nil {
		return err
	}
	for _, row := range rows {
		if err := new(printers.NamePrinter).PrintObj(&unstructured.Unstructured{Object: row}, out); err != nil {
			return fmt.Errorf("print names: %w", err)
		}
	}
	return nil
}
