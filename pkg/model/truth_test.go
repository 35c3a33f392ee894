package model

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// truth is what the facts say of a model.
type truth struct {
	Name                string `json:"name"`
	HubID               string `json:"hf_id"`
	Parameters          int64  `json:"params"`
	ActiveParameters    int64  `json:"active_params_matmul"`
	Layers              int32  `json:"layers"`
	WeightsBytesBF16    int64  `json:"weights_bytes_bf16"`
	KVBytesPerTokenBF16 int64  `json:"kv_bytes_per_token_bf16_full_attention"`
}

// TestModelsOfTheFacts holds every model of the facts to the byte.
func TestModelsOfTheFacts(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(sharedFolder(t), "truth", "models.json"))
	if err != nil {
		t.Skipf("the facts are not here: %v", err)
	}
	var file struct{ Models []truth }
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	if len(file.Models) < 20 {
		t.Fatalf("%d models: the file has another shape than expected", len(file.Models))
	}
	for _, want := range file.Models {
		t.Run(want.Name, func(t *testing.T) {
			m, err := Lookup(want.HubID)
			if err != nil {
				t.Fatal(err)
			}
			got := truth{
				Name: want.Name, HubID: want.HubID, Parameters: m.Parameters(), ActiveParameters: m.ActiveParameters(),
				Layers: m.Architecture.Layers, WeightsBytesBF16: m.WeightBytes("BF16"), KVBytesPerTokenBF16: m.KVBytesPerToken("BF16"),
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// sharedFolder is the folder of facts beside the repository.
func sharedFolder(t *testing.T) string {
	t.Helper()
	if folder := os.Getenv("RANKWRIGHT_SHARED"); folder != "" {
		return folder
	}
	folder, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	for ; folder != filepath.Dir(folder); folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return filepath.Join(folder, "..", "shared")
		}
	}
	t.Skip("no go.mod above this package, so the folder of facts is not known")
	return ""
}
