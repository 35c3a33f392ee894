package truth

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/rankwright/rankwright/pkg/cost"
)

// engines are the words of the table.
var engines = map[string]cost.Engine{"vllm": cost.VLLM, "sglang": cost.SGLang, "trtllm": cost.TensorRTLLM}

// gapAnalysis is a word in the provenance of runs whose load generator gives all requests the same lengths and starts them
// at once; the others draw lengths at random.
const gapAnalysis = "auto-gap-analysis"

// row is a row of the table with its columns.
type row map[string]any

func (r row) text(name string) string {
	s, _ := r[name].(string)
	return s
}

func (r row) number(name string) float64 {
	n, _ := r[name].(float64)
	return n
}

// InferenceX reads inferencex_latency.json.gz of a folder: two observations a row.
func InferenceX(folder string) ([]Observation, error) {
	file, err := os.Open(filepath.Join(folder, "inferencex_latency.json.gz"))
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was only read
	unpacked, err := gzip.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("inferencex_latency.json.gz: %w", err)
	}
	var table struct {
		Columns []string
		Rows    [][]any
	}
	if err := json.NewDecoder(unpacked).Decode(&table); err != nil {
		return nil, fmt.Errorf("inferencex_latency.json.gz: %w", err)
	}
	l := newLibrary()
	list := make([]Observation, 0, 2*len(table.Rows))
	for i, values := range table.Rows {
		r := row{}
		for j, name := range table.Columns {
			r[name] = values[j]
		}
		both, err := r.latencies(l)
		if err != nil {
			return nil, fmt.Errorf("inferencex_latency.json.gz: row %d: %w", i, err)
		}
		list = append(list, both...)
	}
	return list, nil
}

// latencies are the time per output token and the time to the first one.
func (r row) latencies(l *library) ([]Observation, error) {
	o, err := r.observation(l)
	if err != nil {
		return nil, err
	}
	first := o
	o.Quantity, o.Measured = TPOT, r.number("tpot_ms")/1e3
	first.Quantity, first.Measured = TTFT, r.number("ttft_ms")/1e3
	return []Observation{o, first}, nil
}

func (r row) observation(l *library) (Observation, error) {
	d, product, err := device(r.text("system"))
	if err != nil {
		return Observation{}, err
	}
	weights := precision(r.text("precision"))
	profile, m, err := l.profile(r.text("model"), weights, "")
	if err != nil {
		return Observation{}, err
	}
	s := cost.Strategy{Tensor: int(r.number("tp")), Pipeline: int(r.number("pp")), Expert: int(r.number("moe_ep"))}
	o := Observation{
		Table: "inferencex", Model: m.Name, GPU: product.Name, Devices: int(r.number("gpus")), Weights: weights,
		Family: cost.Family{Architecture: d.Architecture, Engine: engines[r.text("backend")], Class: profile.Class()},
	}
	clients := r.number("concurrency")
	run := instance{
		model: m, product: &product, engine: o.Family.Engine, strategy: s, weights: weights,
		cache: cost.Stored(m, weights, "").Cache, length: r.number("isl") + r.number("osl"),
	}
	sequences, err := run.sequences()
	if err != nil {
		return Observation{}, err
	}
	running := max(1, min(clients, sequences))
	o.Cache = run.cache
	o.Query = cost.Query{Profile: profile, Device: d, Strategy: s, Workload: cost.Workload{
		Input: r.number("isl"), Output: r.number("osl"), MaxBatchedTokens: maxBatchedTokens, Concurrency: running, Clients: clients,
		Together: strings.Contains(r.text("provenance"), gapAnalysis),
	}}
	o.Group = fmt.Sprintf("%s %s %s %s %g/%g", m.Name, product.Name, r.text("backend"), r.text("precision"), r.number("isl"), r.number("osl"))
	o.Cell = fmt.Sprintf("%s tp%d ep%d c%g", o.Group, s.Tensor, s.Expert, r.number("concurrency"))
	return o, nil
}
