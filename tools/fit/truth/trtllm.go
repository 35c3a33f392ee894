package truth

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rankwright/rankwright/pkg/cost"
)

// published is a row of NVIDIA's tables of throughput.
type published struct {
	HubID           string  `json:"hf_id"`
	GPU             string  `json:"gpu"`
	Weights         string  `json:"weights_dtype"`
	Cache           string  `json:"kv_dtype"`
	Tensor          int     `json:"tp"`
	Pipeline        int     `json:"pp"`
	Expert          int     `json:"ep"`
	AttentionData   *int    `json:"attention_dp_size"`
	GPUs            int     `json:"gpus"`
	Input           int     `json:"isl"`
	Output          int     `json:"osl"`
	Requests        int     `json:"num_requests"`
	TokensPerSecond float64 `json:"tokens_per_s"`
	Engine          string  `json:"engine"`
}

// TensorRTLLM reads trtllm_throughput.json of a folder.
func TensorRTLLM(folder string) ([]Observation, error) {
	raw, err := os.ReadFile(filepath.Join(folder, "trtllm_throughput.json"))
	if err != nil {
		return nil, err
	}
	var file struct{ Rows []published }
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, fmt.Errorf("trtllm_throughput.json: %w", err)
	}
	l := newLibrary()
	list := make([]Observation, 0, len(file.Rows))
	for i := range file.Rows {
		o, err := file.Rows[i].observation(l)
		if err != nil {
			return nil, fmt.Errorf("trtllm_throughput.json: row %d: %w", i, err)
		}
		list = append(list, o)
	}
	return list, nil
}

// What trtllm-bench runs with where the tables do not say: its default batch, and requests of which never more start than
// the cache can finish.
const (
	maxSequences     = 2048
	maxBatchedTokens = 8192
)

func (r *published) observation(l *library) (Observation, error) {
	d, product, err := device(r.GPU)
	if err != nil {
		return Observation{}, err
	}
	profile, m, err := l.profile(r.HubID, precision(r.Weights), precision(r.Cache))
	if err != nil {
		return Observation{}, err
	}
	s := cost.Strategy{Tensor: r.Tensor, Pipeline: r.Pipeline, Expert: r.Expert}
	if r.AttentionData != nil {
		s.AttentionData = *r.AttentionData
	}
	o := Observation{
		Table: "trtllm", Model: m.Name, GPU: product.Name, Devices: r.GPUs, Measured: r.TokensPerSecond,
		Weights: precision(r.Weights), Cache: precision(r.Cache),
		Family: cost.Family{Architecture: d.Architecture, Engine: engine(r.Engine), Class: profile.Class()},
	}
	run := instance{
		model: m, product: &product, engine: o.Family.Engine, strategy: s, weights: precision(r.Weights),
		cache: precision(r.Cache), length: float64(r.Input + r.Output),
	}
	sequences, err := run.sequences()
	if err != nil {
		return Observation{}, err
	}
	o.Query = cost.Query{Profile: profile, Device: d, Strategy: s, Workload: cost.Workload{
		Input: float64(r.Input), Output: float64(r.Output), MaxBatchedTokens: maxBatchedTokens, Requests: float64(r.Requests),
		Concurrency: r.concurrency(sequences),
	}}
	o.Group = fmt.Sprintf("%s %s %s %d/%d %s", m.Name, product.Name, r.Weights, r.Input, r.Output, r.Engine)
	o.Cell = fmt.Sprintf("%s tp%d pp%d ep%d dp%d", o.Group, r.Tensor, r.Pipeline, r.Expert, s.AttentionData)
	return o, nil
}

func engine(name string) cost.Engine {
	if strings.HasSuffix(name, " 0.17") {
		return cost.TensorRTLLMOld
	}
	return cost.TensorRTLLM
}

// concurrency is how many requests run at a time.
func (r *published) concurrency(sequences float64) float64 {
	groups := 1
	if r.AttentionData != nil {
		groups = max(1, *r.AttentionData)
	}
	c := min(float64(groups)*maxSequences, sequences)
	if r.Requests > 0 {
		c = min(c, float64(r.Requests))
	}
	return max(1, c)
}
