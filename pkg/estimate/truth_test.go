package estimate

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/rankwright/rankwright/internal/facts"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/model"
)

// ran is a row of the facts: a configuration that somebody ran, with what was measured.
type ran struct {
	serving Serving
	// measured tokens per second of the instance, seconds per token and to the first token; 0 where they were not.
	rate, tpot, ttft float64
}

// errorsOf are |estimate / measurement - 1|.
type errorsOf struct{ rate, tpot, ttft []float64 }

func median(list []float64) float64 {
	if len(list) == 0 {
		return math.NaN()
	}
	slices.Sort(list)
	return (list[(len(list)-1)/2] + list[len(list)/2]) / 2
}

// hold estimates every row: none may be refused, all must fit, since they ran, and the median errors must stay below the
// bars of tokens per second, time per token and time to the first token; a bar of 0 is none.
func hold(t *testing.T, rows []ran, least int, rate, tpot, ttft float64) {
	t.Helper()
	var e errorsOf
	for i := range rows {
		r := &rows[i]
		got, err := Serve(r.serving)
		if err != nil {
			t.Errorf("row %d: %s on %s %+v: %v", i, r.serving.Model.Name, r.serving.Product.Name, r.serving.Degrees, err)
			continue
		}
		if !got.Fits {
			t.Errorf("row %d ran, and does not fit: %s on %s %+v: %s", i, got.Model, got.Device, got.Degrees, got.Reason)
			continue
		}
		for _, c := range []struct {
			list     *[]float64
			got      *float64
			measured float64
		}{{&e.rate, got.OutputTokensPerSecond, r.rate}, {&e.tpot, got.TPOTMillis, r.tpot}, {&e.ttft, got.TTFTMillis, r.ttft}} {
			if c.measured > 0 {
				*c.list = append(*c.list, math.Abs(*c.got/c.measured-1))
			}
		}
	}
	if len(rows) < least {
		t.Fatalf("%d rows: the table has another shape than expected", len(rows))
	}
	for _, q := range []struct {
		name string
		list []float64
		bar  float64
	}{{"tokens per second", e.rate, rate}, {"TPOT", e.tpot, tpot}, {"TTFT", e.ttft, ttft}} {
		if len(q.list) == 0 {
			continue
		}
		got := 100 * median(q.list)
		t.Logf("%s: median error %.1f %% of %d rows", q.name, got, len(q.list))
		if q.bar > 0 && got > q.bar {
			t.Errorf("%s: median error %.1f %% is more than %.1f %%", q.name, got, q.bar)
		}
	}
}

// deployed finds everything by the words of a table.
func deployed(t *testing.T, modelName, device, engine, weights string) Deployment {
	t.Helper()
	m, _, err := model.Find(modelName)
	if err != nil {
		t.Fatal(err)
	}
	p, err := accelerator.Find(device)
	if err != nil {
		t.Fatal(err)
	}
	e, err := FindEngine(engine)
	if err != nil {
		t.Fatal(err)
	}
	w, err := FindPrecision(weights)
	if err != nil {
		t.Fatal(err)
	}
	return Deployment{Model: m, Product: p, Engine: e, Weights: w}
}

// TestTensorRTLLMTables: NVIDIA's published throughput with the load that the tables give.
func TestTensorRTLLMTables(t *testing.T) {
	var file struct {
		Rows []struct {
			Model   string  `json:"hf_id"`
			GPU     string  `json:"gpu"`
			Weights string  `json:"weights_dtype"`
			KV      string  `json:"kv_dtype"`
			TP      int     `json:"tp"`
			PP      int     `json:"pp"`
			EP      int     `json:"ep"`
			DP      int     `json:"attention_dp_size"`
			Input   int64   `json:"isl"`
			Output  int64   `json:"osl"`
			N       int64   `json:"num_requests"`
			Rate    float64 `json:"tokens_per_s"`
			Engine  string  `json:"engine"`
		} `json:"rows"`
	}
	facts.Decode(t, "truth/trtllm_throughput.json", &file)
	rows := make([]ran, 0, len(file.Rows))
	for _, r := range file.Rows {
		d := deployed(t, r.Model, r.GPU, r.Engine, r.Weights)
		kv, err := FindPrecision(r.KV)
		if err != nil {
			t.Fatal(err)
		}
		d.KV, d.Degrees = kv, Degrees{Tensor: r.TP, Pipeline: r.PP, AttentionData: r.DP, Expert: r.EP}
		rows = append(rows, ran{serving: Serving{Deployment: d, Load: Load{Input: r.Input, Output: r.Output, Requests: r.N}}, rate: r.Rate})
	}
	hold(t, rows, 370, 10, 0, 0)
}

// TestInferenceX: measured latency at given concurrency.
func TestInferenceX(t *testing.T) {
	var table struct {
		Columns []string
		Rows    [][]any
	}
	facts.Decode(t, "truth/inferencex_latency.json.gz", &table)
	rows := make([]ran, 0, len(table.Rows))
	for _, cells := range table.Rows {
		cell := map[string]any{}
		for i, column := range table.Columns {
			cell[column] = cells[i]
		}
		number := func(column string) float64 { n, _ := cell[column].(float64); return n }
		word := func(column string) string { s, _ := cell[column].(string); return s }
		d := deployed(t, word("model"), word("system"), word("backend"), word("precision"))
		d.Degrees = Degrees{Tensor: int(number("tp")), Pipeline: int(number("pp")), Expert: int(number("moe_ep"))}
		load := Load{Input: int64(number("isl")), Output: int64(number("osl")), Concurrency: int64(number("concurrency"))}
		rows = append(rows, ran{serving: Serving{Deployment: d, Load: load}, tpot: number("tpot_ms"), ttft: number("ttft_ms")})
	}
	hold(t, rows, 1600, 0, 11, 27)
}

// requests are the mean tokens of MLPerf's requests, and the limits of the time per token where they arrive at random.
// Source: MLPerf Inference 5.1's rules; the lengths are recalled.
var requests = map[string]struct {
	input, output       int64
	server, interactive float64
}{
	"llama2-70b-99": {294, 294, 0.2, 0.04}, "llama2-70b-99.9": {294, 294, 0.2, 0.04}, "llama3.1-405b": {9428, 685, 0.175, 0.08},
	"llama3.1-8b": {870, 128, 0.1, 0.03}, "mixtral-8x7b": {290, 145, 0.2, 0}, "deepseek-r1": {800, 3880, 0.08, 0},
}

type submitted struct {
	Accelerator string
	Devices     int `json:"total_acc"`
	Model       string
	Scenario    string
	Weights     string  `json:"weight_dtype"`
	PerDevice   float64 `json:"per_acc"`
	Units       string
	Config      *struct {
		Tensor        int   `json:"tp"`
		Pipeline      int   `json:"pp"`
		Expert        int   `json:"ep"`
		Batch         int64 `json:"gpu_batch_size"`
		AttentionData bool  `json:"dp_attn"`
	} `json:"submitter_config"`
}

// TestMLPerf: results of MLPerf Inference 5.1 whose configuration was published; interactive ones are only reported.
func TestMLPerf(t *testing.T) {
	var file struct{ Rows []submitted }
	facts.Decode(t, "truth/mlperf_v5_1_llm.json", &file)
	scenarios := map[string][]ran{}
	for i := range file.Rows {
		if r := &file.Rows[i]; r.Config != nil && r.Units == "Tokens/s" && r.Devices > 0 {
			scenarios[r.Scenario] = append(scenarios[r.Scenario], r.ran(t))
		}
	}
	for scenario, bar := range map[string]float64{"Offline": 12, "Server": 12, "Interactive": 0} {
		t.Run(scenario, func(t *testing.T) { hold(t, scenarios[scenario], 5, bar, 0, 0) })
	}
}

func (r *submitted) ran(t *testing.T) ran {
	t.Helper()
	d := deployed(t, r.Model, r.Accelerator, "TensorRT-LLM", r.Weights)
	d.KV = "FP8"
	d.Degrees = Degrees{Tensor: r.Config.Tensor, Pipeline: r.Config.Pipeline, Expert: r.Config.Expert}
	if r.Config.AttentionData {
		d.Degrees.Tensor, d.Degrees.AttentionData = 1, r.Config.Tensor
	}
	d.Replicas = max(1, r.Devices/(max(1, d.Degrees.Tensor)*max(1, d.Degrees.Pipeline)*max(1, d.Degrees.AttentionData)))
	load := requests[r.Model]
	s := Serving{Deployment: d, Load: Load{Input: load.input, Output: load.output}, MaxSequences: r.Config.Batch}
	switch r.Scenario {
	case "Server":
		s.MaxTPOT = load.server
	case "Interactive":
		s.MaxTPOT = load.interactive
	}
	return ran{serving: s, rate: r.PerDevice * float64(d.Replicas*max(1, d.Degrees.Tensor)*max(1, d.Degrees.Pipeline)*max(1, d.Degrees.AttentionData))}
}

// TestMLPerfWithoutConfiguration: every other row of one kind of device is estimated without an error in the degrees of
// its node, with what the row says; how fast it was is not compared, since nobody says how it ran.
func TestMLPerfWithoutConfiguration(t *testing.T) {
	var file struct{ Rows []submitted }
	facts.Decode(t, "truth/mlperf_v5_1_llm.json", &file)
	checked := 0
	for i := range file.Rows {
		r := &file.Rows[i]
		if r.Config != nil || !isProduct(r.Accelerator) || r.Weights == "" {
			continue
		}
		d := deployed(t, r.Model, r.Accelerator, "vLLM", r.Weights)
		load := requests[r.Model]
		fits := false
		for tensor := 1; tensor <= 8 && !fits; tensor *= 2 {
			d.Degrees = Degrees{Tensor: tensor}
			got, err := Serve(Serving{Deployment: d, Load: Load{Input: load.input, Output: load.output}})
			if err != nil {
				t.Errorf("row %d: %s on %s tp %d: %v", i, r.Model, r.Accelerator, tensor, err)
				break
			}
			fits = got.Fits
		}
		checked++
		if !fits {
			t.Errorf("row %d ran, and does not fit any degree up to 8: %s", i, fmt.Sprint(r.Model, " on ", r.Accelerator, " ", r.Weights))
		}
	}
	t.Logf("%d rows", checked)
	if checked < 50 {
		t.Error("the table has another shape than expected")
	}
}
