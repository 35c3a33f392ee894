package memory

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/facts"
	"github.com/rankwright/rankwright/pkg/model"
)

// measured is what vLLM reported for a device at start-up. A number that is not known is 0.
type measured struct {
	Model       string             `json:"model"`
	Weights     v1alpha1.Precision `json:"weights"`
	Tensor      int                `json:"tensor"`
	Product     string             `json:"product"`
	Visible     float64            `json:"visible"`
	Permille    int64              `json:"permille"`
	MaxModelLen int64              `json:"maxModelLen"`
	Tokens      int64              `json:"tokens"`
	Sequences   int64              `json:"sequences"`
	Recorded    bool               `json:"recorded"`
	NewSampler  bool               `json:"newSampler"`

	WeightsGiB     float64 `json:"weightsGiB"`
	ActivationsGiB float64 `json:"activationsGiB"`
	OutsideGiB     float64 `json:"outsideGiB"`
	CacheGiB       float64 `json:"cacheGiB"`
	Source         string  `json:"source"`
}

func (r *measured) device() Device {
	return Device{Vendor: "nvidia", Product: r.Product, VisibleBytes: int64(r.Visible * gib)}
}

func (r *measured) setup(t *testing.T) Setup {
	t.Helper()
	return Setup{
		Model: lookup(t, r.Model), Weights: r.Weights, Layout: Layout{Tensor: r.Tensor},
		Inference: &Inference{MaxModelLen: r.MaxModelLen, BatchedTokens: r.Tokens, BatchedSequences: r.Sequences, Utilization: r.Permille},
	}
}

func lookup(t *testing.T, name string) *model.Model {
	t.Helper()
	m, err := model.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// published are the logs of testdata.
func published(t *testing.T) []measured {
	t.Helper()
	var file struct{ Rows []measured }
	content, err := os.ReadFile(filepath.Join("testdata", "vllm_logs.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(content, &file); err != nil {
		t.Fatal(err)
	}
	return file.Rows
}

// truthFile is the part of memory.json that is used.
type truthFile struct {
	PerGPU struct {
		Rows [][]any `json:"rows"`
	} `json:"measured_vllm_per_gpu"`
	Logs []struct {
		Model   string `json:"model"`
		Blocks  int64  `json:"num_gpu_blocks"`
		Weights string `json:"weights"`
	} `json:"measured_vllm_logs"`
	Blocks struct {
		Tables []blockTable `json:"tables"`
	} `json:"measured_block_tables"`
}

type blockTable struct {
	Model   string           `json:"model"`
	Machine string           `json:"machine"`
	Layer   int64            `json:"layer_weight_bytes_fp16"`
	Block   int64            `json:"kv_block_bytes_per_layer"`
	Blocks  map[string]int64 `json:"num_blocks_by_layers"`
}

// truthRows are the rows of the facts' table. Its runs were vLLM's library on an H100, whose defaults are 16384 tokens
// and 1024 sequences.
func truthRows(t *testing.T) []measured {
	t.Helper()
	names := map[string]struct {
		model   string
		weights v1alpha1.Precision
	}{
		"gpt-oss-20b": {"GPT-OSS-20B", v1alpha1.MXFP4}, "Llama-3.3-70B-FP8": {"Llama-3.3-70B", v1alpha1.FP8},
		"Llama-3.1-8B": {"Llama-3.1-8B", v1alpha1.BF16}, "Qwen3-32B": {"Qwen3-32B", v1alpha1.BF16},
	}
	var rows []measured
	for _, raw := range truth(t).PerGPU.Rows {
		cells, ok := numbers(raw)
		name, known := names[raw[0].(string)] //nolint:errcheck // the first column is the model's name, or the test fails
		if !ok || !known {
			t.Fatalf("row %v: the table has another shape than expected", raw)
		}
		rows = append(rows, measured{
			Model: name.model, Weights: name.weights, Tensor: int(cells[5]), Product: "NVIDIA H100 80GB HBM3", Visible: 79.18,
			Permille: int64(cells[6] * 1000), MaxModelLen: 16000, Tokens: 16384, Sequences: 1024, Recorded: true,
			WeightsGiB: cells[0], ActivationsGiB: cells[1], OutsideGiB: cells[2], CacheGiB: cells[4],
			Source: "memory.json, measured_vllm_per_gpu",
		})
	}
	return rows
}

// numbers are the cells of a row after its name.
func numbers(raw []any) ([]float64, bool) {
	if len(raw) != 8 {
		return nil, false
	}
	cells := make([]float64, 0, len(raw)-1)
	for _, cell := range raw[1:] {
		number, ok := cell.(float64)
		if !ok {
			return nil, false
		}
		cells = append(cells, number)
	}
	return cells, true
}

func truth(t *testing.T) truthFile {
	t.Helper()
	var file truthFile
	facts.Decode(t, "truth/memory.json", &file)
	return file
}
