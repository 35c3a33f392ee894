package model

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/internal/facts"
	"github.com/rankwright/rankwright/test/figure"
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
	var file struct{ Models []truth }
	facts.Decode(t, "truth/models.json", &file)
	if len(file.Models) < 20 {
		t.Fatalf("%d models: the file has another shape than expected", len(file.Models))
	}
	exact := 0
	for _, want := range file.Models {
		right := t.Run(want.Name, func(t *testing.T) {
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
		if right {
			exact++
		}
	}
	figure.All("models.json", "parameters, bytes of weights, bytes of cache per token: exact", exact, len(file.Models), 20).Hold(t)
}

// headerBytes bounds what file headers add to a checkpoint: some 130 bytes a tensor.
const headerBytes = 16 << 20

// TestCheckpointsOfTheFacts holds the published checkpoints of the facts to the byte, or to the headers of their files where
// the stated size is that of the files.
func TestCheckpointsOfTheFacts(t *testing.T) {
	var file struct {
		Models []struct {
			HubID      string `json:"hf_id"`
			Checkpoint int64  `json:"checkpoint_bytes"`
		}
	}
	facts.Decode(t, "truth/models.json", &file)
	ofFiles := map[string]bool{"deepseek-ai/DeepSeek-V3": true}
	compared, exact := 0, 0
	for _, want := range file.Models {
		if want.Checkpoint == 0 {
			continue
		}
		compared++
		headers := int64(0)
		if ofFiles[want.HubID] {
			headers = headerBytes
		}
		got := mustLookup(t, want.HubID).CheckpointBytes()
		t.Logf("%s: %d bytes counted, %d published", want.HubID, got, want.Checkpoint)
		if rest := want.Checkpoint - got; rest < 0 || rest > headers {
			t.Errorf("%s: %d bytes counted, %d published", want.HubID, got, want.Checkpoint)
			continue
		}
		exact++
	}
	figure.All("models.json", "bytes of published checkpoints: exact, or to the headers of the files", exact, compared, 3).Hold(t)
}

// namesInFacts are what the tables call models that the catalogue has under another name.
var namesInFacts = map[string]string{
	"llama2_70b": "Llama-2-70B", "llama2-70b-99": "Llama-2-70B", "llama2-70b-99.9": "Llama-2-70B", "ModelName.LLaMa70B": "Llama-2-70B",
	"llama3.1-8b": "Llama-3.1-8B", "llama3.1-405b": "Llama-3.1-405B", "llama1_30b": "Llama-30B", "ModelName.LLaMa30B": "Llama-30B", "LLaMA v3.1 8B": "Llama-3.1-8B", "LLaMA v3.1 70B": "Llama-3.1-70B",
	"Mistral 7B": "Mistral-7B-v0.1", "Llama 4 Scout": "Llama-4-Scout-17B-16E", "Llama 4 Maverick": "Llama-4-Maverick-17B-128E",
	"DeepSeek R1 0528": "DeepSeek-R1-0528", "DeepSeek-V3 / R1 (main model, no MTP)": "DeepSeek-V3",
}

// TestEveryModelOfTheFactsIsInTheCatalogue walks every table for the names of models.
func TestEveryModelOfTheFactsIsInTheCatalogue(t *testing.T) {
	names := map[string]bool{}
	for _, table := range []string{
		"helix_heterogeneous.json", "inferencex_latency.json.gz", "memory.json", "mlperf_v5_1_llm.json", "models.json",
		"trtllm_throughput.json", "vidur_profiles.json",
	} {
		var content any
		facts.Decode(t, "truth/"+table, &content)
		collectModels(content, names)
	}
	for name := range names {
		// memory.json has a formula under the same word.
		if strings.Contains(name, "floor(") {
			continue
		}
		wanted := name
		if other, ok := namesInFacts[name]; ok {
			wanted = other
		}
		if _, err := Lookup(wanted); err != nil {
			t.Error(err)
		}
	}
	if len(names) < 50 {
		t.Errorf("%d names: the tables have another shape than expected", len(names))
	}
}

// collectModels gathers the texts under the word model, in objects and in tables with columns.
func collectModels(value any, names map[string]bool) {
	switch v := value.(type) {
	case []any:
		for _, inner := range v {
			collectModels(inner, names)
		}
	case map[string]any:
		columns, _ := v["columns"].([]any)
		rows, _ := v["rows"].([]any)
		for i, column := range columns {
			if column != "model" {
				continue
			}
			for _, row := range rows {
				if cells, ok := row.([]any); ok && i < len(cells) {
					addName(cells[i], names)
				}
			}
		}
		for key, inner := range v {
			if key == "model" || key == "hf_id" {
				addName(inner, names)
			}
			collectModels(inner, names)
		}
	}
}

func addName(value any, names map[string]bool) {
	if name, ok := value.(string); ok {
		names[name] = true
	}
}
