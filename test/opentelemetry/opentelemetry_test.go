// Package opentelemetry holds the table of our metrics' names in OpenTelemetry to the convention, and to the metrics that there are.
package opentelemetry

import (
	"encoding/csv"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	"go.opentelemetry.io/otel/semconv/v1.41.0/hwconv"

	"github.com/rankwright/rankwright/test/document"
)

const docs = "../../docs/"

var update = flag.Bool("update", false, "write the table of the document")

// metric is a metric of the convention.
type metric interface {
	Name() string
	Unit() string
}

// convention has the metrics and attributes that rows may name, and the unit of the metrics.
func convention() (metrics map[string]string, attributes map[string]bool) {
	metrics, attributes = map[string]string{}, map[string]bool{}
	for _, m := range []metric{
		hwconv.Errors{},
		hwconv.GpuIO{},
		hwconv.GpuMemoryLimit{},
		hwconv.GpuMemoryUsage{},
		hwconv.GpuMemoryUtilization{},
		hwconv.GpuUtilization{},
		hwconv.Power{},
		hwconv.Status{},
		hwconv.Temperature{},
	} {
		metrics[m.Name()] = m.Unit()
	}
	for _, key := range []attribute.Key{
		semconv.ErrorTypeKey, semconv.HwDriverVersionKey, semconv.HwGpuTaskKey, semconv.HwIDKey, semconv.HwModelKey, semconv.HwStateKey, semconv.HwTypeKey,
		semconv.HwVendorKey, semconv.K8SContainerNameKey, semconv.K8SNamespaceNameKey, semconv.K8SNodeNameKey, semconv.K8SPodNameKey,
	} {
		attributes[string(key)] = true
	}
	return metrics, attributes
}

// values are those of attributes that rows may name.
func values() map[string]bool {
	known := map[string]bool{}
	for _, v := range []attribute.KeyValue{semconv.HwGpuTaskGeneral, semconv.HwTypeGpu, semconv.HwStateOk, semconv.HwStateDegraded, semconv.HwStateFailed} {
		known[string(v.Key)+"="+v.Value.AsString()] = true
	}
	return known
}

func TestNamesAreTheConventions(t *testing.T) {
	text, err := os.ReadFile(docs + "opentelemetry.csv")
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	metrics, attributes := convention()
	values := values()
	mapped := map[string]bool{}
	var table strings.Builder
	table.WriteString("| ours | theirs | unit | attributes | note |\n|---|---|---|---|---|\n")
	for _, row := range rows[1:] {
		kind, ours, theirs, unit, with, note := row[0], row[1], row[2], row[3], row[4], row[5]
		mapped[ours] = true
		switch known, is := metrics[theirs]; {
		case kind == "metric" && theirs != "" && (!is || known != unit):
			t.Errorf("%s: %s in %q: the convention has it in %q", ours, theirs, unit, known)
		case kind == "label" && !attributes[theirs]:
			t.Errorf("label %s: the convention has no %s", ours, theirs)
		case with != "" && !values[with]:
			t.Errorf("%s: the convention has no %s", ours, with)
		}
		for _, name := range otherName.FindAllString(note, -1) {
			if metrics[name] == "" && !attributes[name] && !values[name] {
				t.Errorf("%s: the convention has no %s", ours, name)
			}
		}
		fmt.Fprintf(&table, "| %s | %s | %s | %s | %s |\n", code(ours), code(theirs), code(unit), code(with), note)
	}
	document.Table(t, docs+"opentelemetry.md", table.String(), *update)

	listed, err := os.ReadFile(docs + "metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range ofDevices.FindAllStringSubmatch(string(listed), -1) {
		if !mapped[name[1]] {
			t.Errorf("nothing is said of %s", name[1])
		}
	}
	for _, row := range rows[1:] {
		if !strings.Contains(string(listed), "`"+row[1]+"`") && row[1] != "node" {
			t.Errorf("there is no %s %s", row[0], row[1])
		}
	}
}

var (
	// otherName is a name of the convention in a note.
	otherName = regexp.MustCompile(`\b(?:hw|error)\.[a-z_.]*[a-z](?:=[a-z]+)?`)
	// ofDevices are the metrics of single devices in the list of all; the device plugin's are of resources.
	ofDevices = regexp.MustCompile("(?m)^\\| `(rankwright_device_(?:[^p]|p[^l])[a-z_]*)`")
)

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}
