package truth

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rankwright/rankwright/pkg/cost"
)

// submitted is a result of MLPerf Inference.
type submitted struct {
	Accelerator string
	Devices     *int `json:"total_acc"`
	Model       string
	Scenario    string
	Weights     string  `json:"weight_dtype"`
	PerDevice   float64 `json:"per_acc"`
	Units       string
	Config      *struct {
		Tensor        int  `json:"tp"`
		Pipeline      int  `json:"pp"`
		Expert        *int `json:"ep"`
		Batch         int  `json:"gpu_batch_size"`
		AttentionData bool `json:"dp_attn"`
	} `json:"submitter_config"`
}

// benchmark is a load: mean tokens of its requests, and the limits of the time per token of the scenarios in
// which requests arrive at random, from MLPerf Inference 5.1's rules.
type benchmark struct {
	model               string
	input, output       float64
	server, interactive float64
}

var benchmarks = map[string]benchmark{
	"llama2-70b-99":   {"llama2-70b", 294, 294, 0.2, 0.04},
	"llama2-70b-99.9": {"llama2-70b", 294, 294, 0.2, 0.04},
	"llama3.1-405b":   {"llama3.1-405b", 9428, 685, 0.175, 0.08},
	"llama3.1-8b":     {"llama3.1-8b", 870, 128, 0.1, 0.03},
	"mixtral-8x7b":    {"mixtral-8x7b", 290, 145, 0.2, 0},
	"deepseek-r1":     {"deepseek-r1", 800, 3880, 0.08, 0},
}

// MLPerf reads the results of a folder's mlperf_v5_1_llm.json whose configuration was published. Interactive ones are
// only reported.
func MLPerf(folder string) ([]Observation, error) {
	raw, err := os.ReadFile(filepath.Join(folder, "mlperf_v5_1_llm.json"))
	if err != nil {
		return nil, err
	}
	var file struct{ Rows []submitted }
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, fmt.Errorf("mlperf_v5_1_llm.json: %w", err)
	}
	l := newLibrary()
	var list []Observation
	for i := range file.Rows {
		r := &file.Rows[i]
		if r.Config == nil || r.Units != "Tokens/s" || r.Devices == nil {
			continue
		}
		o, err := r.observation(l)
		if err != nil {
			return nil, fmt.Errorf("mlperf_v5_1_llm.json: row %d: %w", i, err)
		}
		list = append(list, o)
	}
	return list, nil
}

func (r *submitted) observation(l *library) (Observation, error) {
	b, ok := benchmarks[r.Model]
	if !ok {
		return Observation{}, fmt.Errorf("benchmark %q: add it to the table of benchmarks", r.Model)
	}
	d, product, err := device(r.Accelerator)
	if err != nil {
		return Observation{}, err
	}
	profile, m, err := l.profile(b.model, precision(r.Weights), "FP8")
	if err != nil {
		return Observation{}, err
	}
	s := cost.Strategy{Tensor: r.Config.Tensor, Pipeline: r.Config.Pipeline}
	if r.Config.Expert != nil {
		s.Expert = *r.Config.Expert
	}
	if r.Config.AttentionData {
		s.Tensor, s.AttentionData = 1, r.Config.Tensor
	}
	devices := max(1, s.Tensor) * max(1, s.Pipeline) * max(1, s.AttentionData)
	o := Observation{
		Table: "mlperf " + r.Scenario, Model: m.Name, GPU: product.Name, Devices: devices,
		Measured: r.PerDevice * float64(devices), Reported: r.Scenario == "Interactive",
		Family: cost.Family{Architecture: d.Architecture, Engine: cost.TensorRTLLM, Class: profile.Class()},
	}
	switch r.Scenario {
	case "Server":
		o.Limit = b.server
	case "Interactive":
		o.Limit = b.interactive
	}
	run := instance{
		model: m, product: &product, engine: o.Family.Engine, strategy: s, weights: precision(r.Weights), cache: "FP8",
		length: b.input + b.output,
	}
	sequences, err := run.sequences()
	if err != nil {
		return Observation{}, err
	}
	o.Query = cost.Query{Profile: profile, Device: d, Strategy: s, Workload: cost.Workload{
		Input: b.input, Output: b.output, MaxBatchedTokens: maxBatchedTokens,
		Concurrency: max(1, min(float64(max(1, s.AttentionData)*r.Config.Batch), sequences)),
	}}
	o.Group = fmt.Sprintf("%s %s %s tp%d pp%d dp%d", m.Name, product.Name, r.Weights, s.Tensor, s.Pipeline, s.AttentionData)
	o.Cell = o.Group + " " + r.Scenario
	return o, nil
}
