package host

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/util/jsonpath"

	"github.com/rankwright/rankwright/internal/cli/term"
)

// deviceObject is a device as its JSON reads, with its readings.
type deviceObject map[string]any

// objectsOf makes objects of devices. Whole numbers stay whole, as in kubectl, so that a path can compare them.
func objectsOf(devices []liveDevice) ([]deviceObject, error) {
	text, err := json.Marshal(devices)
	if err != nil {
		return nil, fmt.Errorf("devices as JSON: %w", err)
	}
	var objects []deviceObject
	if err := utiljson.Unmarshal(text, &objects); err != nil {
		return nil, fmt.Errorf("devices as JSON: %w", err)
	}
	return objects, nil
}

// none is what kubectl prints where a path leads nowhere.
const none = "<none>"

// columns are the columns of -o custom-columns.
type columns []column

type column struct{ header, path string }

// parseColumns reads columns as kubectl does: headers and paths divided by colons, columns by commas. Of a path, the
// braces and the first point may be left out.
func parseColumns(spec string) (rowPrinter, error) {
	if spec == "" {
		return nil, fmt.Errorf("no columns: write custom-columns=ID:.id,MEMORY:.memory.totalMiB")
	}
	var parsed columns
	at := 1
	for part := range strings.SplitSeq(spec, ",") {
		header, path, ok := strings.Cut(part, ":")
		if !ok || header == "" || path == "" {
			return nil, fmt.Errorf("position %d: column %q: write a header, a colon and a path, such as ID:.id", at, part)
		}
		c := column{header: header, path: braced(path)}
		if _, err := find(c.path, deviceObject{}); err != nil {
			return nil, fmt.Errorf("position %d: path %q: %w: write a path in a device, such as .memory.totalMiB", at+len(header)+1, path, err)
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

func (c columns) writeTo(w io.Writer, devices []deviceObject, headers bool) error {
	var header []string
	rows := make([][]string, len(devices))
	for _, column := range c {
		header = append(header, column.header)
		for i, device := range devices {
			values, err := find(column.path, device)
			if err != nil {
				return fmt.Errorf("column %s of %v: %w", column.header, device["id"], err)
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
	page := term.Page{Wide: true} // the caller chose the columns
	page.Grid(header, rows, term.TableGap)
	_, err := io.WriteString(w, page.String())
	return err
}

// find returns what a path leads to in a device.
func find(path string, device deviceObject) (values []string, err error) {
	err = withPath(path, func(p *jsonpath.JSONPath) error {
		results, err := p.FindResults(map[string]any(device))
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
		return nil, fmt.Errorf("no path: write jsonpath='{.id}', which is applied to each device")
	}
	for _, root := range []string{".status", ".spec", ".metadata", ".items"} {
		if strings.Contains(template, "{"+root) {
			return nil, fmt.Errorf("template %q: a device has no %s: the template is applied to each device: write '{.id}', or use -o json for the whole inventory", template, root)
		}
	}
	discard := func(p *jsonpath.JSONPath) error { return p.Execute(io.Discard, map[string]any{}) }
	if err := withPath(template, discard); err != nil {
		return nil, fmt.Errorf("template %q: %w: write a template for one device, such as '{.id}'", template, err)
	}
	return pathTemplate(template).writeTo, nil
}

// writeTo applies the template to each device, a line or more for each.
func (t pathTemplate) writeTo(w io.Writer, devices []deviceObject, _ bool) error {
	for _, device := range devices {
		var out bytes.Buffer
		err := withPath(string(t), func(p *jsonpath.JSONPath) error { return p.Execute(&out, map[string]any(device)) })
		if err != nil {
			return fmt.Errorf("template for %v: %w", device["id"], err)
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
