package truth

import (
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/memory"
	"github.com/rankwright/rankwright/pkg/model"
)

// What trtllm-bench runs with where the tables do not say: its default batch, and requests of which never more start than
// the cache can finish.
const (
	maxSequences     = 2048
	maxBatchedTokens = 8192
)

// run is an instance of a model that was served, in the words of a table.
type run struct {
	table, model, device string
	devices              int
	engine               cost.Engine
	strategy             cost.Strategy
	weights, cache       v1alpha1.Precision // the cache is what is usual for the weights where it is not said
	load                 cost.Workload      // with as many requests at a time as are offered
}

// observation is a run with the query that estimates it: of the requests that are offered, as many run at a time as the cache
// holds.
func (r *run) observation(l *library) (Observation, error) {
	d, product, err := device(r.device)
	if err != nil {
		return Observation{}, err
	}
	profile, m, err := l.profile(r.model, r.weights, r.cache)
	if err != nil {
		return Observation{}, err
	}
	cache := cost.Stored(m, r.weights, r.cache).Cache
	sequences, err := r.sequences(m, &product, cache)
	if err != nil {
		return Observation{}, err
	}
	of, err := engine.Find(memoryEngines[r.engine])
	if err != nil {
		return Observation{}, err
	}
	load := r.load
	load.MaxBatchedTokens, load.Concurrency = maxBatchedTokens, max(1, min(load.Concurrency, sequences))
	return Observation{
		Table: r.table, Model: m.Name, GPU: product.Name, Devices: r.devices, Weights: r.weights, Cache: cache,
		Family: cost.Family{Architecture: d.Architecture, Engine: r.engine, Class: profile.Class()},
		Query:  cost.Query{Profile: profile, Device: d, Strategy: r.strategy, Workload: load, Tile: float64(of.Tile(d.Architecture))},
	}, nil
}

var memoryEngines = map[cost.Engine]v1alpha1.Engine{
	cost.VLLM: v1alpha1.EngineVLLM, cost.SGLang: v1alpha1.EngineSGLang,
	cost.TensorRTLLM: v1alpha1.EngineTensorRTLLM, cost.TensorRTLLMOld: v1alpha1.EngineTensorRTLLM,
}

// sequences returns how many requests' caches the instance holds: the number of its tightest stage for each
// attention-data-parallel group.
func (r *run) sequences(m *model.Model, product *accelerator.Product, cache v1alpha1.Precision) (float64, error) {
	s := r.strategy
	d := memory.Device{Vendor: "nvidia", Product: product.Name, TotalBytes: int64(product.MemoryMiB) << 20}
	f, err := memory.New(memory.Setup{
		Model: m, Engine: memoryEngines[r.engine], Weights: r.weights, KV: cache,
		Layout:    memory.Layout{Tensor: s.Tensor, Pipeline: s.Pipeline, AttentionData: s.AttentionData, Expert: s.Expert},
		Inference: &memory.Inference{MaxModelLen: int64(r.load.Input + r.load.Output), BatchedTokens: maxBatchedTokens},
	}, d)
	if err != nil {
		return 0, err
	}
	least := int64(0)
	for first, stages := 0, max(1, s.Pipeline); first < f.Layers(); stages-- {
		end := first + (f.Layers()-first+stages-1)/max(1, stages)
		room := f.Room(first, end, d)
		if !room.Fits() {
			return 0, fmt.Errorf("%s ran on %s and is said not to fit: layers %d to %d: %s", m.Name, product.Name, first, end, room.Reason)
		}
		if first == 0 || room.Sequences < least {
			least = room.Sequences
		}
		first = end
	}
	return float64(least) * float64(max(1, s.AttentionData)), nil
}

// throughput reads a row of NVIDIA's tables of throughput.
func throughput(l *library, r record) ([]Observation, error) {
	groups, requests := r.whole("attention_dp_size"), r.number("num_requests")
	of := run{
		table: "trtllm", model: r["hf_id"], device: r["gpu"], devices: r.whole("gpus"), engine: cost.TensorRTLLM,
		weights: precision(r["weights_dtype"]), cache: precision(r["kv_dtype"]),
		strategy: cost.Strategy{Tensor: r.whole("tp"), Pipeline: r.whole("pp"), Expert: r.whole("ep"), AttentionData: groups},
		load: cost.Workload{
			Input: r.number("isl"), Output: r.number("osl"), Requests: requests, Concurrency: float64(max(1, groups) * maxSequences),
		},
	}
	if requests > 0 {
		of.load.Concurrency = min(of.load.Concurrency, requests)
	}
	if strings.HasSuffix(r["engine"], " 0.17") {
		of.engine = cost.TensorRTLLMOld
	}
	o, err := of.observation(l)
	o.Measured = r.number("tokens_per_s")
	o.Group = fmt.Sprintf("%s %s %s %s/%s %s", o.Model, o.GPU, r["weights_dtype"], r["isl"], r["osl"], r["engine"])
	o.Cell = fmt.Sprintf("%s tp%s pp%s ep%s dp%d", o.Group, r["tp"], r["pp"], r["ep"], groups)
	return []Observation{o}, err
}

// inferenceXEngines are the words of the table.
var inferenceXEngines = map[string]cost.Engine{"vllm": cost.VLLM, "sglang": cost.SGLang, "trtllm": cost.TensorRTLLM}

// gapAnalysis is a word in the provenance of runs whose load generator gives all requests the same lengths and starts them
// at once; the others draw lengths at random.
const gapAnalysis = "auto-gap-analysis"

// latencies reads a row of InferenceX: the time per output token and the time to the first one.
func latencies(l *library, r record) ([]Observation, error) {
	clients := r.number("concurrency")
	of := run{
		table: "inferencex", model: r["model"], device: r["system"], devices: r.whole("gpus"), engine: inferenceXEngines[r["backend"]],
		weights:  precision(r["precision"]),
		strategy: cost.Strategy{Tensor: r.whole("tp"), Pipeline: r.whole("pp"), Expert: r.whole("moe_ep")},
		load: cost.Workload{
			Input: r.number("isl"), Output: r.number("osl"), Concurrency: clients, Clients: clients,
			Together: r["together"] != "" || strings.Contains(r["provenance"], gapAnalysis),
		},
	}
	o, err := of.observation(l)
	o.Group = fmt.Sprintf("%s %s %s %s %s/%s", o.Model, o.GPU, r["backend"], r["precision"], r["isl"], r["osl"])
	o.Cell = fmt.Sprintf("%s tp%s ep%s c%s", o.Group, r["tp"], r["moe_ep"], r["concurrency"])
	first := o
	o.Quantity, o.Measured = TPOT, r.number("tpot_ms")/1e3
	first.Quantity, first.Measured = TTFT, r.number("ttft_ms")/1e3
	return []Observation{o, first}, err
}
