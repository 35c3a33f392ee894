package history

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestPatchSetsEveryFieldButTheScale(t *testing.T) {
	spec := v1alpha1.ModelPlacementSpec{Quantization: "FP8", Replicas: new(int32(3)), Suspend: true, Engine: v1alpha1.EngineVLLM}
	text, err := patchOf(&spec)
	if err != nil {
		t.Fatal(err)
	}
	var d data
	if err := json.Unmarshal(text, &d); err != nil {
		t.Fatal(err)
	}
	values := map[string]string{}
	for _, o := range d.Patch {
		if o.Op != "add" {
			t.Errorf("%s %s: want add, which also replaces", o.Op, o.Path)
		}
		values[o.Path] = string(o.Value)
	}
	for path, want := range map[string]string{"/spec/quantization": `"FP8"`, "/spec/engine": `"vLLM"`, "/spec/topology": "null", "/spec/replicas": "", "/spec/suspend": ""} {
		if values[path] != want {
			t.Errorf("%s: %q, want %q", path, values[path], want)
		}
	}
	scaled := spec
	scaled.Replicas, scaled.Suspend = nil, false
	if again, _ := patchOf(&scaled); !bytes.Equal(again, text) {
		t.Error("a scaled placement has another revision")
	}
}
