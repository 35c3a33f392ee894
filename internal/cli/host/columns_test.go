package host

import (
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestErrorsOfColumnsAndPaths(t *testing.T) {
	tests := map[string]string{
		"custom-columns":                    "no columns: write custom-columns=ID:.id",
		"custom-columns=":                   "no columns",
		"custom-columns=ID":                 `position 1: column "ID": write a header, a colon and a path`,
		"custom-columns=ID:.id,":            `position 8: column ""`,
		"custom-columns=ID:.id,M:":          `position 8: column "M:"`,
		"custom-columns=:.id":               `position 1: column ":.id"`,
		"custom-columns=ID:.id,P:.paths[x]": `position 10: path ".paths[x]": `,
		"jsonpath":                          "no path: write jsonpath='{.id}'",
		"jsonpath={.id":                     "unclosed action",
		"jsonpath={.status.devices[*].id}":  "a device has no .status: the template is applied to each device: write '{.id}'",
		"tsv=x":                             "use one of table, wide, json, yaml, tsv, name, custom-columns=, jsonpath=",
		"":                                  "use one of table",
	}
	for text, want := range tests {
		t.Run(text, func(t *testing.T) {
			if err := new(deviceFormat).Set(text); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
		})
	}
}

// Paths are written with braces and a first point or without, and a filter compares whole numbers.
func TestPathsOfColumns(t *testing.T) {
	objects, err := objectsOf(withReadings(stored(t, "inventory.yaml").Status.Devices, readingsOfOne()))
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string][]string{
		"id":                              {"nvidia-0000:01:00.0"},
		".id":                             {"nvidia-0000:01:00.0"},
		"{id}":                            {"nvidia-0000:01:00.0"},
		"{.id}":                           {"nvidia-0000:01:00.0"},
		".memory.totalMiB":                {"46068"},
		".readings.powerMilliW":           {"72400"},
		".partition.kind":                 nil,
		".nothing":                        nil,
		".memory[?(@.totalMiB>1)].source": nil,
	}
	for path, want := range tests {
		t.Run(path, func(t *testing.T) {
			got, err := find(braced(path), objects[0])
			if want == nil {
				if len(got) > 0 {
					t.Errorf("found %v", got)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func FuzzColumnsAndPaths(f *testing.F) {
	for _, text := range []string{
		"ID:.id,MIB:{.memory.totalMiB}", "A:paths[*]", "A:.paths[-1:]", "A:..id", "A:.x[?(@.y==1)]", "{.id}", "{range .paths[*]}{@} {end}",
		"{range .a}{range .b}", "{end}", "A:['id','vendor']", "{.paths[0:0:0]}", `{"\n"}`,
	} {
		f.Add(text)
	}
	objects, err := objectsOf(withReadings([]v1alpha1.Device{{ID: "nvidia-0", Paths: []string{"/dev/nvidia0", "/dev/nvidia1"}}}, nil))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(_ *testing.T, text string) {
		for _, parse := range argumentFormats {
			if rows, err := parse(text); err == nil {
				_ = rows(io.Discard, objects, true)
			}
		}
	})
}
