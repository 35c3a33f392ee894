package estimate

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/model"
)

// serving is Llama-3.1-8B on an H100 with vLLM.
func serving(t *testing.T, change func(*Serving)) Serving {
	t.Helper()
	s := Serving{Deployment: deployed(t, "Llama-3.1-8B", "H100", "vLLM", "BF16"), Load: Load{Input: 1000, Output: 1000}}
	change(&s)
	return s
}

func served(t *testing.T, change func(*Serving)) *Answer {
	t.Helper()
	a, err := Serve(serving(t, change))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestWithoutHead: that a model which embeds generates no tokens is said, and of no other.
func TestWithoutHead(t *testing.T) {
	for name, want := range map[string]bool{"BGE-M3": true, "Qwen3-Embedding-8B": true, "Qwen3-8B": false} {
		a, err := Serve(Serving{Deployment: deployed(t, name, "L4", "vLLM", "BF16"), Load: Load{Input: 500, Output: 1}})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(strings.Join(a.Warnings, "; "), name+" has no output head and generates no tokens"); got != want {
			t.Errorf("%s: %q, want it said %t", name, a.Warnings, want)
		}
	}
}

// TestConcurrency: as many requests run as the tightest bound lets.
func TestConcurrency(t *testing.T) {
	room := served(t, func(*Serving) {}).Concurrency.KVCache
	for _, tt := range []struct {
		name    string
		change  func(*Serving)
		running int64
		by      string
	}{
		{"room", func(*Serving) {}, room, "kvCache"},
		{"the engine's limit", func(s *Serving) { s.Input, s.Output = 100, 100 }, 1024, "maxSequences"},
		{"a limit that is set", func(s *Serving) { s.MaxSequences = 16 }, 16, "maxSequences"},
		{"what is asked", func(s *Serving) { s.Concurrency = 10 }, 10, "concurrency"},
		{"more than has room", func(s *Serving) { s.Concurrency = room + 100 }, room, "kvCache"},
		{"what is offered", func(s *Serving) { s.Requests = 20 }, 20, "requests"},
		{"copies", func(s *Serving) { s.Replicas = 3 }, 3 * room, "kvCache"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := served(t, tt.change).Concurrency
			if c.Running != tt.running || c.LimitedBy != tt.by {
				t.Errorf("got %+v, want %d by %s", c, tt.running, tt.by)
			}
		})
	}
	// A cache of 1000 + 1000 tokens of 128 KiB each, in blocks of 16.
	a := served(t, func(s *Serving) { s.Concurrency = 10 })
	if want := int64(10 * 2000 * 131072); a.Memory.Cache != want {
		t.Errorf("the cache of 10 requests takes %d bytes, want %d", a.Memory.Cache, want)
	}
}

// TestUnderALimit: as many requests run as meet the limit, and no limit is felt that is met anyway.
func TestUnderALimit(t *testing.T) {
	free := served(t, func(*Serving) {})
	tight := served(t, func(s *Serving) { s.MaxTPOT = *free.TPOTMillis / 1e3 / 1.5 })
	if c := tight.Concurrency; c.LimitedBy != "maxTPOT" || c.Running < 1 || c.Running >= free.Concurrency.Running || tight.Memory.Cache >= free.Memory.Cache {
		t.Errorf("got %+v, %d bytes of cache; without a limit %+v, %d", c, tight.Memory.Cache, free.Concurrency, free.Memory.Cache)
	}
	again := served(t, func(s *Serving) { s.Concurrency = tight.Concurrency.Running })
	if math.Abs(*again.TPOTMillis / *tight.TPOTMillis - 1) > 0.05 {
		t.Errorf("%d requests get a token in %v ms, under the limit in %v", tight.Concurrency.Running, *again.TPOTMillis, *tight.TPOTMillis)
	}
	if wide := served(t, func(s *Serving) { s.MaxTPOT = 10 }); wide.Concurrency != free.Concurrency {
		t.Errorf("a limit of 10 s changes %+v to %+v", free.Concurrency, wide.Concurrency)
	}
}

func TestReplicas(t *testing.T) {
	one := served(t, func(s *Serving) { s.Concurrency = 10 })
	four := served(t, func(s *Serving) { s.Concurrency, s.Replicas = 40, 4 })
	if *four.TPOTMillis != *one.TPOTMillis || *four.TTFTMillis != *one.TTFTMillis || four.Devices != 4 ||
		math.Abs(*four.OutputTokensPerSecond / *one.OutputTokensPerSecond - 4) > 1e-4 {
		t.Errorf("four copies with four times the load: %v tokens/s, one %v", *four.OutputTokensPerSecond, *one.OutputTokensPerSecond)
	}
}

func TestDoesNotFit(t *testing.T) {
	a := served(t, func(s *Serving) { s.Model = must(findModel("Llama-3.1-70B")) })
	if a.Fits || a.Reason == "" || a.TTFTMillis != nil || a.TPOTMillis != nil || a.OutputTokensPerSecond != nil || a.Ranges != nil || a.Memory.Weights < 130<<30 {
		t.Errorf("70 billion parameters in 16 bits on 80 GB: %+v", a)
	}
	if e := a.Explain(); len(e.Stages) != 1 || len(e.Terms) != 0 {
		t.Errorf("explained as %+v", e)
	}
}

// findModel finds a model alone.
func findModel(name string) (*model.Model, error) {
	m, _, err := model.Find(name)
	return m, err
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestStages: every layer is on one stage, and the head is on the last one.
func TestStages(t *testing.T) {
	a := served(t, func(s *Serving) { s.Degrees = Degrees{Pipeline: 3} })
	next := 0
	for _, s := range a.Stages {
		if s.FirstLayer != next {
			t.Errorf("stage begins at layer %d, want %d", s.FirstLayer, next)
		}
		next = s.LastLayer + 1
	}
	last := a.Stages[2]
	if next != 32 || last.LastLayer-last.FirstLayer >= a.Stages[0].LastLayer-a.Stages[0].FirstLayer {
		t.Errorf("%d layers, the last stage has %d to %d", next, last.FirstLayer, last.LastLayer)
	}
	if diff := cmp.Diff(fullest(a.Stages), a.Memory); diff != "" {
		t.Errorf("memory is not the fullest stage's (-want +got):\n%s", diff)
	}
}

// TestExplain: the lines of memory add up to the answer, and the terms of a small model that decodes alone are mostly its
// weights.
func TestExplain(t *testing.T) {
	a := served(t, func(s *Serving) { s.Concurrency = 1; s.Degrees = Degrees{Pipeline: 2} })
	e := a.Explain()
	for i, lines := range e.Stages {
		var sum int64
		for _, l := range lines {
			sum += l.Bytes
		}
		if sum != a.Stages[i].Memory.Total {
			t.Errorf("stage %d: lines of %d bytes, memory %d", i, sum, a.Stages[i].Memory.Total)
		}
	}
	if len(e.Terms) != len(terms) || e.Terms[0].Name != "weights" || e.Terms[0].TPOTMillis < *a.TPOTMillis/3 || e.Terms[0].TPOTMillis > *a.TPOTMillis {
		t.Errorf("terms %+v of a time per token of %v ms", e.Terms, *a.TPOTMillis)
	}
}

func TestServeRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		change     func(*Serving)
	}{
		{"no model", "model", func(s *Serving) { s.Model = nil }},
		{"no input", "isl 0", func(s *Serving) { s.Input = 0 }},
		{"endless output", "osl", func(s *Serving) { s.Output = math.MaxInt64 }},
		{"negative concurrency", "concurrency -1", func(s *Serving) { s.Concurrency = -1 }},
		{"replicas", "replicas -2", func(s *Serving) { s.Replicas = -2 }},
		{"nodes", "devices-per-node -1", func(s *Serving) { s.DevicesPerNode = -1 }},
		{"network", "network-gbps -1", func(s *Serving) { s.NetworkGbps = -1 }},
		{"no network", "network-gbps NaN", func(s *Serving) { s.NetworkGbps = math.NaN() }},
		{"limit", "max-tpot", func(s *Serving) { s.MaxTPOT = math.NaN() }},
		{"engine", "engine", func(s *Serving) { s.Engine = Engine{} }},
		{"precision", "weights", func(s *Serving) { s.Weights = "FP7" }},
		{"cache", "kv", func(s *Serving) { s.KV = "FP7" }},
		{"another vendor", "engine TensorRT-LLM", func(s *Serving) {
			s.Engine, s.Product = must(FindEngine("trtllm")), must(accelerator.Find("MI300X"))
		}},
		{"no memory of its own", "device", func(s *Serving) { s.Product = accelerator.Product{Name: "none"} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Serve(serving(t, tt.change)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// TestAnythingIsAnswered: any request gets an answer in numbers or an error, and the same one twice.
func TestAnythingIsAnswered(t *testing.T) {
	products, names := accelerator.Products(), model.Names()
	rapid.Check(t, func(t *rapid.T) {
		degree := rapid.IntRange(-1, 20)
		s := Serving{
			Deployment: Deployment{
				Model:    must(model.Lookup(rapid.SampledFrom(names).Draw(t, "model"))),
				Product:  rapid.SampledFrom(products).Draw(t, "product"),
				Engine:   must(FindEngine(rapid.SampledFrom(engine.Names()).Draw(t, "engine"))),
				Weights:  rapid.SampledFrom(append(Precisions, "")).Draw(t, "weights"),
				KV:       rapid.SampledFrom(append(Precisions, "")).Draw(t, "kv"),
				Degrees:  Degrees{degree.Draw(t, "tp"), degree.Draw(t, "pp"), degree.Draw(t, "dp"), degree.Draw(t, "ep")},
				Replicas: rapid.IntRange(-1, 1<<21).Draw(t, "replicas"), DevicesPerNode: rapid.IntRange(-1, 100).Draw(t, "node"),
				NetworkGbps: rapid.Float64().Draw(t, "network"),
			},
			Load: Load{
				Input: rapid.Int64().Draw(t, "isl") >> 44, Output: rapid.Int64().Draw(t, "osl") >> 44,
				Longest: max(0, rapid.Int64().Draw(t, "longest")>>43), Variation: rapid.Int64Range(-1, 401).Draw(t, "variation"),
				Capacity:    v1alpha1.Capacity(rapid.SampledFrom([]string{"", "Typical", "FullLength", "Half"}).Draw(t, "capacity")),
				Concurrency: rapid.Int64().Draw(t, "n") >> 40, Requests: rapid.Int64().Draw(t, "requests") >> 30, MaxTPOT: rapid.Float64().Draw(t, "limit"),
			},
			MaxBatchedTokens: rapid.Int64().Draw(t, "tokens") >> 45, MaxSequences: rapid.Int64().Draw(t, "sequences") >> 48,
		}
		a, err := Serve(s)
		b, again := Serve(s)
		if (err == nil) != (again == nil) || err != nil && err.Error() != again.Error() {
			t.Fatalf("%v, and then %v", err, again)
		}
		if err != nil {
			return
		}
		if diff := cmp.Diff(a, b, cmp.FilterPath(func(p cmp.Path) bool {
			return strings.HasPrefix(p.Last().String(), ".footprint") || strings.HasPrefix(p.Last().String(), ".query") || strings.HasPrefix(p.Last().String(), ".constants")
		}, cmp.Ignore())); diff != "" {
			t.Fatalf("two answers (-first +second):\n%s", diff)
		}
		if !a.Fits {
			return
		}
		for _, v := range []float64{*a.TTFTMillis, *a.TPOTMillis, *a.OutputTokensPerSecond} {
			if !(v > 0) || math.IsInf(v, 0) {
				t.Fatalf("%+v of %+v", a, s)
			}
		}
		if r := a.Ranges; !(r.TPOTMillis.Low <= *a.TPOTMillis && *a.TPOTMillis <= r.TPOTMillis.High) {
			t.Fatalf("%v ms is not in %+v", *a.TPOTMillis, r.TPOTMillis)
		}
	})
}

func FuzzNames(f *testing.F) {
	for _, name := range []string{"H100", "nvidia/Llama-3.3-70B-Instruct-FP8", "TensorRT-LLM 0.17", "fp8", "llama2-70b-99.9", "Arc Pro B60 Dual 48G", "///--", "ModelName."} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if p, err := accelerator.Find(name); err == nil && p.Name == "" || err != nil && len(err.Error()) > 4000 {
			t.Errorf("device %q: %q, %v", name, p.Name, err)
		}
		if m, weights, err := model.Find(name); err == nil && (m == nil || weights == "") {
			t.Errorf("model %q: %v, %q", name, m, weights)
		}
		if e, err := FindEngine(name); err == nil && e.Name == "" {
			t.Errorf("engine %q without a name", name)
		}
		if p, err := FindPrecision(name); err == nil && p == "" {
			t.Errorf("precision %q is none", name)
		}
	})
}

// TestStorageOnly: a format that a device has no rate for is told of.
func TestStorageOnly(t *testing.T) {
	for _, tt := range []struct {
		device, weights string
		told            bool
	}{
		{"H100", "FP8", false},
		{"A100 80GB", "FP8", true},
		{"H100", "MXFP4", true},
		{"B200", "NVFP4", false},
		{"T4", "FP8", true},
		{"T4", "FP16", false},
		{"H100", "INT4", true},
	} {
		a := served(t, func(s *Serving) {
			s.Product, s.Weights = must(accelerator.Find(tt.device)), must(FindPrecision(tt.weights))
		})
		if told := strings.Contains(strings.Join(a.Warnings, ";"), "does not compute in "+tt.weights); told != tt.told {
			t.Errorf("%s in %s: warnings %q", tt.device, tt.weights, a.Warnings)
		}
	}
}

// TestVerdictsNearTheLimit: an answer whose memory is nearer to the limit than it is known says so, on both sides of the limit, and one further away does not.
func TestVerdictsNearTheLimit(t *testing.T) {
	d := deployed(t, "Llama-3.1-8B", "H100", "vLLM", "BF16")
	full, err := Serve(Serving{Deployment: d, Load: Load{Input: 10, Output: 10, Concurrency: 1}, MaxBatchedTokens: 2048, MaxSequences: 256})
	if err != nil {
		t.Fatal(err)
	}
	of := full.Stages[0]
	for share, want := range map[float64]bool{1.10: false, 1.00: true, 0.98: true, 0.90: false} {
		small := d
		less := float64(of.Available) - share*float64(of.Memory.Total)
		small.Product.ReportedMiB = d.Product.UsableMiB() - int64(less/0.9/(1<<20)) // vLLM takes nine tenths of a device
		got, err := Serve(Serving{Deployment: small, Load: Load{Input: 10, Output: 10, Concurrency: 1}, MaxBatchedTokens: 2048, MaxSequences: 256})
		if err != nil {
			t.Fatal(err)
		}
		warned := strings.Contains(strings.Join(got.Warnings, " "), "which is known to 2 %")
		if got.Uncertain != want || warned != want || got.Fits != (share > 0.99) {
			t.Errorf("%d of %d available; %.2f of what is needed: fits %t, uncertain %t, warnings %q", got.Stages[0].Memory.Total, got.Stages[0].Available, share, got.Fits, got.Uncertain, got.Warnings)
		}
	}
}

// TestWhatRunsByDefault: an engine that is told how many sequences run is held to it; of those that are not, SGLang runs more than its graphs have been captured for.
func TestWhatRunsByDefault(t *testing.T) {
	for _, test := range []struct {
		engine            string
		told, least, most int64
	}{{"SGLang", 0, 2048, 4096}, {"SGLang", 256, 256, 256}, {"vLLM", 0, 1024, 1024}, {"vLLM", 64, 64, 64}} {
		d := deployed(t, "Qwen3-14B", "NVIDIA H100 80GB HBM3", test.engine, "BF16")
		got, err := Serve(Serving{Deployment: d, Load: Load{Input: 217, Output: 202, Longest: 2048, Variation: 100}, MaxSequences: test.told})
		if err != nil {
			t.Fatal(err)
		}
		if n := got.Concurrency.Engine; n < test.least || n > test.most {
			t.Errorf("%s told %d runs %d, want %d to %d", test.engine, test.told, n, test.least, test.most)
		}
	}
}
