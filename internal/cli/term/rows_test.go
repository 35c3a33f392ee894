package term

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
		"wide=x":                            "use one of table, wide, json, yaml, name, custom-columns=, jsonpath=",
		"":                                  "use one of table",
	}
	for text, want := range tests {
		t.Run(text, func(t *testing.T) {
			if err := OneOf(new(Format), NamedFormats...).Set(text); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
		})
	}
}

// Paths are written with braces and a first point or without, and a filter compares whole numbers.
func TestPathsOfColumns(t *testing.T) {
	objects, err := Decode[[]Object]([]v1alpha1.Device{{ID: "nvidia-0", Memory: &v1alpha1.DeviceMemory{TotalMiB: 46068}}})
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string][]string{
		"id":                              {"nvidia-0"},
		".id":                             {"nvidia-0"},
		"{id}":                            {"nvidia-0"},
		"{.id}":                           {"nvidia-0"},
		".memory.totalMiB":                {"46068"},
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

type names []string

func (n names) Names() []string { return n }

// Columns and names are of the items of a list, or of what is no list, and a template is for the whole.
func TestWriteForMachines(t *testing.T) {
	mesh := func(name string) v1alpha1.DeviceMesh {
		return v1alpha1.DeviceMesh{TypeMeta: metav1.TypeMeta{APIVersion: "rankwright.dev/v1alpha1", Kind: "DeviceMesh"}, ObjectMeta: metav1.ObjectMeta{Name: name}}
	}
	list := map[string]any{"apiVersion": "v1", "kind": "List", "items": []v1alpha1.DeviceMesh{mesh("a"), mesh("b")}}
	tests := map[string]struct {
		format Format
		object any
		want   string
	}{
		"columns of items": {"custom-columns=N:.metadata.name", list, "N\na\nb\n"},
		"columns of one":   {"custom-columns=N:.metadata.name", mesh("a"), "N\na\n"},
		"path":             {"jsonpath={.items[*].metadata.name}", list, "a b\n"},
		"names of items":   {FormatName, list, "devicemesh.rankwright.dev/a\ndevicemesh.rankwright.dev/b\n"},
		"name of one":      {FormatName, mesh("a"), "devicemesh.rankwright.dev/a\n"},
		"names of its own": {FormatName, names{"device/h100-0/nvidia-0"}, "device/h100-0/nvidia-0\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := Write(&out, test.format, test.object, nil); err != nil || out.String() != test.want {
				t.Errorf("%q, %v; want %q", out.String(), err, test.want)
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
	objects, err := Decode[[]Object]([]v1alpha1.Device{{ID: "nvidia-0", Paths: []string{"/dev/nvidia0", "/dev/nvidia1"}}})
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
