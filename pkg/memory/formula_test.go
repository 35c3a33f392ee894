package memory

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/model"
)

// TestFormulas evaluates every formula that Explain prints: it must come to the line's bytes, and the lines of a component
// to the component of Use.
func TestFormulas(t *testing.T) {
	training := func(method v1alpha1.TrainingMethod, sharding v1alpha1.TrainingSharding, checkpoints bool) *v1alpha1.TrainingWorkload {
		return &v1alpha1.TrainingWorkload{Method: method, Sharding: sharding, SequenceLength: 4096, GlobalBatch: 64, MicroBatch: 2, ActivationCheckpointing: checkpoints}
	}
	h100 := Device{Vendor: "nvidia", Product: "NVIDIA H100 80GB HBM3", TotalBytes: 81559 * mib}
	serve := &Inference{MaxModelLen: 10000, Sequences: 9}
	running := &Inference{MaxModelLen: 10000, Sequences: 9, Mean: 1500, Deviation: 1118}
	drafts := func(t *testing.T, of, method, name string) *model.Draft {
		t.Helper()
		d, err := lookup(t, of).Drafter(&v1alpha1.Speculation{Method: v1alpha1.SpeculationMethod(method), Model: name})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, c := range []struct {
		name  string
		model string
		setup Setup
	}{
		{"running", "Llama-3.1-8B", Setup{Weights: v1alpha1.BF16, Inference: running}},
		{"running with windows", "Gemma-3-27B", Setup{Weights: v1alpha1.BF16, Layout: Layout{Tensor: 2}, Inference: running}},
		{"running with decode context", "DeepSeek-V3", Setup{Weights: v1alpha1.FP8, KV: v1alpha1.FP8, Layout: Layout{Tensor: 8, DecodeContext: 8}, Inference: running}},
		{"running with a state", "Qwen3-Next-80B-A3B", Setup{Weights: v1alpha1.BF16, Layout: Layout{Tensor: 2}, Inference: running}},
		{"an encoder's output", "Whisper-large-v3", Setup{Weights: v1alpha1.FP16, Layout: Layout{Tensor: 2}, Inference: &Inference{MaxModelLen: 448, Sequences: 9}}},
		{"running with an encoder's output", "Whisper-large-v3", Setup{Weights: v1alpha1.FP16, Inference: &Inference{MaxModelLen: 448, Sequences: 9, Mean: 100, Deviation: 50}}},
		{"one at full length", "Llama-3.1-8B", Setup{Weights: v1alpha1.BF16, Inference: &Inference{MaxModelLen: 100000, Sequences: 9, Mean: 1500, Deviation: 1118}}},
		{"dense", "Llama-3.1-8B", Setup{Weights: v1alpha1.BF16, Inference: serve}},
		{"tied and split", "Gemma-3-27B", Setup{Weights: v1alpha1.BF16, Layout: Layout{Tensor: 2, Pipeline: 2}, Inference: serve}},
		{"padded experts", "GPT-OSS-120B", Setup{Weights: v1alpha1.MXFP4, Layout: Layout{Tensor: 2, Expert: 2}, Inference: serve}},
		{"latent with attention data", "DeepSeek-V3", Setup{Weights: v1alpha1.FP8, Layout: Layout{AttentionData: 8, Expert: 8}, Inference: serve}},
		{"latent with decode context", "DeepSeek-V3", Setup{Weights: v1alpha1.FP8, KV: v1alpha1.FP8, Layout: Layout{Tensor: 8, DecodeContext: 8}, Inference: serve}},
		{"SGLang", "Qwen3-30B-A3B", Setup{Engine: v1alpha1.EngineSGLang, Weights: v1alpha1.FP8, Inference: serve}},
		{"TensorRT-LLM", "Llama-3.1-70B", Setup{Engine: v1alpha1.EngineTensorRTLLM, Weights: v1alpha1.NVFP4, Layout: Layout{Tensor: 4}, Inference: serve}},
		{"shared prefix", "Llama-3.1-8B", Setup{Weights: v1alpha1.BF16, Inference: &Inference{MaxModelLen: 10000, Sequences: 9, Shared: 1000}}},
		{"shared prefix as it runs", "Gemma-3-27B", Setup{Weights: v1alpha1.BF16, Layout: Layout{Tensor: 2}, Inference: &Inference{MaxModelLen: 10000, Sequences: 9, Mean: 1500, Deviation: 1118, Shared: 1000}}},
		{"adapters", "Qwen3-30B-A3B", Setup{Weights: v1alpha1.BF16, Layout: Layout{Tensor: 2, Expert: 2}, Inference: &Inference{MaxModelLen: 10000, Sequences: 9, AdapterSlots: 4, AdapterRank: 16}}},
		{"images", "Qwen2.5-VL-7B", Setup{Weights: v1alpha1.BF16, Inference: &Inference{MaxModelLen: 10000, Sequences: 9, MediaTokens: 16000}}},
		{"a module that drafts", "DeepSeek-V3", Setup{Weights: v1alpha1.FP8, Layout: Layout{Tensor: 8, Expert: 8}, Inference: &Inference{MaxModelLen: 10000, Sequences: 9, Drafted: 2}, Draft: drafts(t, "DeepSeek-V3", "MTP", "")}},
		{"a model that drafts", "Llama-3.1-70B", Setup{Weights: v1alpha1.BF16, Layout: Layout{Tensor: 4}, Inference: &Inference{MaxModelLen: 10000, Sequences: 9, Mean: 1500, Deviation: 1118, Drafted: 4}, Draft: drafts(t, "Llama-3.1-70B", "Draft", "Llama-3.2-1B")}},
		{"full training", "Llama-3.1-8B", Setup{Engine: v1alpha1.EngineTorch, Weights: v1alpha1.BF16, Layout: Layout{Data: 8}, Training: training("Full", "FSDP", true)}},
		{"interleaved and selective", "Qwen3-30B-A3B", Setup{Engine: v1alpha1.EngineMegatron, Weights: v1alpha1.BF16, Layout: Layout{Tensor: 2, Pipeline: 4}, Training: &v1alpha1.TrainingWorkload{
			SequenceLength: 4096, GlobalBatch: 64, Recompute: "Selective", SequenceParallel: true, VirtualStages: 3,
		}}},
		{"a dense layer among mixtures", "DeepSeek-V3", Setup{Engine: v1alpha1.EngineMegatron, Weights: v1alpha1.BF16, Layout: Layout{Tensor: 2, Data: 4, Expert: 4}, Training: training("Full", "ZeRO1", false)}},
		{"RLHF", "Qwen3-30B-A3B", Setup{Engine: v1alpha1.EngineMegatron, Weights: v1alpha1.BF16, Layout: Layout{Tensor: 2, Pipeline: 2, Data: 4, Expert: 4}, Training: training("RLHF", "ZeRO1", false)}},
		{"QLoRA", "Llama-3.1-70B", Setup{Engine: v1alpha1.EngineTorch, Weights: v1alpha1.INT4, Training: training("QLoRA", "None", true)}},
		{"prefix", "Llama-3.2-1B", Setup{Engine: v1alpha1.EngineTorch, Weights: v1alpha1.FP32, Training: training("Prefix", "None", false)}},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.setup.Model = lookup(t, c.model)
			f, err := New(c.setup, h100)
			if err != nil {
				t.Fatal(err)
			}
			half := f.Layers() / 2
			for _, run := range [][2]int{{0, f.Layers()}, {0, half}, {half, f.Layers()}, {1, 2}} {
				checkLines(t, f, run[0], run[1])
			}
		})
	}
}

func checkLines(t *testing.T, f *Footprint, first, end int) {
	t.Helper()
	sums := map[string]int64{}
	for _, line := range f.Explain(first, end) {
		sums[line.Component] += line.Bytes
		got, err := evaluate(line.Formula)
		// Divisions are rounded once for each layer, model or part.
		if tolerance := 1e-9*float64(line.Bytes) + 1024; err != nil || math.Abs(got-float64(line.Bytes)) > tolerance {
			t.Errorf("%s %s: %q comes to %.0f, not to %d (%v)", line.Component, line.Name, line.Formula, got, line.Bytes, err)
		}
	}
	u := f.Use(first, end)
	want := map[string]int64{
		"weights": u.Weights, "kvCache": u.Cache, "activations": u.Activations, "gradients": u.Gradients, "optimizer": u.Optimizer,
		"engine": u.Engine, "communication": u.Communication,
	}
	for component, bytes := range want {
		if sums[component] != bytes {
			t.Errorf("layers %d to %d: the lines of %s add up to %d, not to %d", first, end, component, sums[component], bytes)
		}
	}
}

var operators = map[string]bool{"+": true, "×": true, "/": true, "(": true, ")": true}

// evaluate computes a formula: numbers, + × / and brackets; words stand for nothing.
func evaluate(formula string) (float64, error) {
	p := &parser{}
	for _, field := range strings.Fields(strings.NewReplacer("(", " ( ", ")", " ) ").Replace(formula)) {
		if _, err := strconv.ParseFloat(field, 64); err == nil || operators[field] {
			p.tokens = append(p.tokens, field)
		}
	}
	value, err := p.sum()
	if err == nil && len(p.tokens) > 0 {
		err = fmt.Errorf("%v is left over", p.tokens)
	}
	return value, err
}

type parser struct{ tokens []string }

func (p *parser) accept(tokens string) string {
	if len(p.tokens) == 0 || !strings.Contains(tokens, p.tokens[0]) {
		return ""
	}
	token := p.tokens[0]
	p.tokens = p.tokens[1:]
	return token
}

func (p *parser) sum() (float64, error) {
	value, err := p.product()
	for err == nil && p.accept("+") != "" {
		var next float64
		next, err = p.product()
		value += next
	}
	return value, err
}

func (p *parser) product() (float64, error) {
	value, err := p.atom()
	for err == nil {
		operator := p.accept("×/")
		if operator == "" {
			return value, nil
		}
		var next float64
		if next, err = p.atom(); operator == "/" {
			next = 1 / next
		}
		value *= next
	}
	return value, err
}

func (p *parser) atom() (float64, error) {
	if p.accept("(") != "" {
		value, err := p.sum()
		if err == nil && p.accept(")") == "" {
			err = fmt.Errorf("no closing bracket before %v", p.tokens)
		}
		return value, err
	}
	if len(p.tokens) == 0 {
		return 0, fmt.Errorf("the formula ends early")
	}
	number, err := strconv.ParseFloat(p.tokens[0], 64)
	p.tokens = p.tokens[1:]
	return number, err
}
