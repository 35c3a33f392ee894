package model

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/internal/facts"
	"github.com/rankwright/rankwright/test/figure"
)

// figures are what was published of a model, and what follows from its configuration by hand: the weights that a token meets,
// and the bytes of the cache where every layer keeps all of a sequence.
type figures struct {
	Model                         string
	Parameters, Active            int64
	Layers                        int32
	WeightsBytes, KVBytesPerToken int64 // in 16 bits
}

// TestPublishedModels holds every model of the table to the byte.
func TestPublishedModels(t *testing.T) {
	rows, exact := facts.Table(t, "testdata/published.csv"), 0
	for _, row := range rows {
		want := figures{
			row.Text("model"), row.Whole("parameters"), row.Whole("active_parameters"), int32(row.Whole("layers")),
			row.Whole("weights_bytes_bf16"), row.Whole("kv_bytes_per_token_bf16"),
		}
		right := t.Run(want.Model, func(t *testing.T) {
			m := mustLookup(t, want.Model)
			got := figures{want.Model, m.Parameters(), m.ActiveParameters(), m.Architecture.Layers, m.WeightBytes("BF16"), m.KVBytesPerToken("BF16")}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
		if right {
			exact++
		}
	}
	figure.All("published models", "parameters, bytes of weights, bytes of cache per token: exact", exact, len(rows), 20).Hold(t)
}

// headerBytes bounds what file headers add to a checkpoint: some 130 bytes a tensor.
const headerBytes = 16 << 20

// TestPublishedBytesOfCheckpoints holds the sizes of checkpoints to the byte; where the published size includes the
// files' headers, to the size of those.
func TestPublishedBytesOfCheckpoints(t *testing.T) {
	compared, exact := 0, 0
	for _, row := range facts.Table(t, "testdata/published.csv") {
		name, want := row.Text("model"), row.Whole("checkpoint_bytes")
		if want == 0 {
			continue
		}
		compared++
		headers := int64(0)
		if name == "deepseek-ai/DeepSeek-V3" {
			headers = headerBytes
		}
		got := mustLookup(t, name).checkpointBytes()
		if rest := want - got; rest < 0 || rest > headers {
			t.Errorf("%s: %d bytes counted, %d published", name, got, want)
			continue
		}
		exact++
	}
	figure.All("published models", "bytes of checkpoints: exact, or to the headers of the files", exact, compared, 3).Hold(t)
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
