package term

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/util/jsonpath"
)

// Object is something as its JSON reads. Whole numbers are whole, as in kubectl, so that a path can compare them.
type Object = map[string]any

// rowPrinter prints objects as the argument of a format says.
type rowPrinter func(w io.Writer, objects []Object, headers bool) error

// argumentFormats are the formats that need an argument, with what understands it.
var argumentFormats = map[Format]func(string) (rowPrinter, error){FormatColumns: parseColumns, FormatPath: parsePath}

// WriteRows prints objects in a format that has an argument.
func WriteRows(w io.Writer, f Format, objects []Object, headers bool) error {
	name, argument, _ := f.Cut()
	rows, err := argumentFormats[name](argument)
	if err != nil {
		return err
	}
	return rows(w, objects, headers)
}

// Decode makes what a value's JSON reads of it.
func Decode[T any](value any) (T, error) {
	var decoded T
	text, err := json.Marshal(value)
	if err == nil {
		err = utiljson.Unmarshal(text, &decoded)
	}
	if err != nil {
		return decoded, fmt.Errorf("print as JSON: %w", err)
	}
	return decoded, nil
}

// rowsOf are the objects to which a format is applied: columns to the items of a list, a template to the whole.
func rowsOf(name Format, value any) ([]Object, error) {
	object, err := Decode[any](value)
	if err != nil {
		return nil, err
	}
	whole, is := object.(Object)
	if !is {
		whole = Object{"items": object}
	}
	items, listed := whole["items"].([]any)
	if name == FormatPath || !listed {
		return []Object{whole}, nil
	}
	rows := make([]Object, len(items))
	for i := range items {
		if rows[i], is = items[i].(Object); !is {
			return nil, fmt.Errorf("items[%d] is no object: use -o json", i)
		}
	}
	return rows, nil
}

// none is what kubectl prints where a path leads nowhere.
const none = "<none>"

// chosen are the columns of -o custom-columns.
type chosen []struct{ header, path string }

// parseColumns reads columns as kubectl does: headers and paths divided by colons, columns by commas. Of a path, the
// braces and the first point may be left out.
func parseColumns(spec string) (rowPrinter, error) {
	if spec == "" {
		return nil, fmt.Errorf("no columns: write custom-columns=ID:.id,MEMORY:.memory.totalMiB")
	}
	var parsed chosen
	at := 1
	for part := range strings.SplitSeq(spec, ",") {
		header, path, ok := strings.Cut(part, ":")
		if !ok || header == "" || path == "" {
			return nil, fmt.Errorf("position %d: column %q: write a header, a colon and a path, such as ID:.id", at, part)
		}
		c := struct{ header, path string }{header, braced(path)}
		if _, err := find(c.path, Object{}); err != nil {
			return nil, fmt.Errorf("position %d: path %q: %w: write a path, such as .memory.totalMiB", at+len(header)+1, path, err)
		}
		parsed = append(parsed, c)
		at += len(part) + 1
	}
	return parsed.writeTo, nil
}

// braced is a path as JSONPath wants it: id, .id, {id} and {.id} are {.id}.
func braced(path string) string {
	path = strings.TrimSuffix(strings.TrimPrefix(path, "{"), "}")
	return "{." + strings.TrimPrefix(path, ".") + "}"
}

func (c chosen) writeTo(w io.Writer, objects []Object, headers bool) error {
	var header []string
	rows := make([][]string, len(objects))
	for _, column := range c {
		header = append(header, column.header)
		for i, object := range objects {
			values, err := find(column.path, object)
			if err != nil {
				return fmt.Errorf("column %s of %s: %w", column.header, nameOf(object), err)
			}
			cell := none
			if len(values) > 0 {
				cell = strings.Join(values, ",")
			}
			rows[i] = append(rows[i], cell)
		}
	}
	if !headers {
		header = nil
	}
	page := Page{Wide: true} // the caller chose the columns
	page.Grid(header, rows, TableGap)
	_, err := io.WriteString(w, page.String())
	return err
}

// nameOf is what an error calls an object.
func nameOf(object Object) string {
	for _, path := range []string{"{.id}", "{.metadata.name}", "{.name}"} {
		if found, err := find(path, object); err == nil && len(found) > 0 {
			return found[0]
		}
	}
	return "an item"
}

// find returns what a path leads to in an object.
func find(path string, object Object) (values []string, err error) {
	err = withPath(path, func(p *jsonpath.JSONPath) error {
		results, err := p.FindResults(object)
		for _, result := range results {
			for _, value := range result {
				values = append(values, fmt.Sprint(value.Interface()))
			}
		}
		return err
	})
	return values, err
}

// withPath parses a template and calls what uses it. The template is parsed for each use, since a range changes it; and a
// panic of the library, which has some, is an error in the template.
func withPath(template string, use func(*jsonpath.JSONPath) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cannot be applied: %v", p)
		}
	}()
	p := jsonpath.New("output").AllowMissingKeys(true)
	if err := p.Parse(template); err != nil {
		return err
	}
	return use(p)
}

// pathTemplate is the template of -o jsonpath.
type pathTemplate string

func parsePath(template string) (rowPrinter, error) {
	if template == "" {
		return nil, fmt.Errorf("no path: write jsonpath='{.id}'")
	}
	discard := func(p *jsonpath.JSONPath) error { return p.Execute(io.Discard, Object{}) }
	if err := withPath(template, discard); err != nil {
		return nil, fmt.Errorf("template %q: %w: write a template, such as '{.id}'", template, err)
	}
	return pathTemplate(template).writeTo, nil
}

// writeTo applies the template to each object, a line or more for each.
func (t pathTemplate) writeTo(w io.Writer, objects []Object, _ bool) error {
	for _, object := range objects {
		var out bytes.Buffer
		err := withPath(string(t), func(p *jsonpath.JSONPath) error { return p.Execute(&out, object) })
		if err != nil {
			return fmt.Errorf("template for %s: %w", nameOf(object), err)
		}
		if !bytes.HasSuffix(out.Bytes(), []byte("\n")) {
			out.WriteByte('\n')
		}
		if _, err := w.Write(out.Bytes()); err != nil {
			return err
		}
	}
	return nil
}
