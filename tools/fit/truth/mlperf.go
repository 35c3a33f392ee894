package truth

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/cost"
)

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

// submitted reads a result of MLPerf Inference whose configuration was published. Interactive ones are only reported.
func submitted(l *library, r record) ([]Observation, error) {
	if r["submitter_config.tp"] == "" || r["units"] != "Tokens/s" || r["total_acc"] == "" {
		return nil, nil
	}
	b, ok := benchmarks[r["model"]]
	if !ok {
		return nil, fmt.Errorf("benchmark %q: add it to the table of benchmarks", r["model"])
	}
	s := cost.Strategy{Tensor: r.whole("submitter_config.tp"), Pipeline: r.whole("submitter_config.pp"), Expert: r.whole("submitter_config.ep")}
	if r["submitter_config.dp_attn"] == "true" {
		s.Tensor, s.AttentionData = 1, s.Tensor
	}
	groups := max(1, s.AttentionData)
	devices := max(1, s.Tensor) * max(1, s.Pipeline) * groups
	of := run{
		table: "mlperf " + r["scenario"], model: b.model, device: r["accelerator"], devices: devices, engine: cost.TensorRTLLM, strategy: s,
		weights: precision(r["weight_dtype"]), cache: v1alpha1.FP8,
		load: cost.Workload{Input: b.input, Output: b.output, Concurrency: float64(groups * r.whole("submitter_config.gpu_batch_size"))},
	}
	o, err := of.observation(l)
	o.Measured, o.Reported = r.number("per_acc")*float64(devices), r["scenario"] == "Interactive"
	o.Limit = map[string]float64{"Server": b.server, "Interactive": b.interactive}[r["scenario"]]
	o.Group = fmt.Sprintf("%s %s %s tp%d pp%d dp%d", o.Model, o.GPU, r["weight_dtype"], s.Tensor, s.Pipeline, s.AttentionData)
	o.Cell = o.Group + " " + r["scenario"]
	return []Observation{o}, err
}
