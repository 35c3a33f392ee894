package host

import (
	"strings"
	"testing"

	"github.com/rankwright/rankwright/internal/cli/term"
)

func TestErrorsOfDeviceFormats(t *testing.T) {
	tests := map[string]string{
		"custom-columns=":                  "no columns",
		"jsonpath={.id":                    "unclosed action",
		"jsonpath={.status.devices[*].id}": "a device has no .status: the template is applied to each device: write '{.id}'",
		"tsv=x":                            "use one of table, wide, json, yaml, tsv, name, custom-columns=, jsonpath=",
		"":                                 "use one of table",
	}
	for text, want := range tests {
		t.Run(text, func(t *testing.T) {
			if err := newDeviceOutput(new(term.Format)).Set(text); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
		})
	}
}

// A path finds what a device has, and its readings.
func TestColumnsOfDevices(t *testing.T) {
	objects, err := term.Decode[[]term.Object](withReadings(stored(t, "inventory.yaml").Status.Devices, readingsOfOne()))
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	const columns = "custom-columns=ID:.id,MIB:.memory.totalMiB,POWER:.readings.powerMilliW,PART:.partition.kind"
	if err := term.WriteRows(&out, columns, objects[:1], true); err != nil {
		t.Fatal(err)
	}
	if want := "ID                    MIB     POWER   PART\nnvidia-0000:01:00.0   46068   72400   <none>\n"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
}
