package estimate

import (
	"slices"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/model"
	"github.com/rankwright/rankwright/pkg/price"
)

const twoShapes = `
shapes:
- {provider: A, instance: h200-8, region: any, product: NVIDIA H200, devices: 8, usdPerHour: 40, source: "https://a", date: "2026-01-02"}
- {provider: B, instance: h200-8, region: any, product: NVIDIA H200, devices: 8, usdPerHour: 20, source: "https://b", date: "2026-01-02"}
- {provider: B, instance: t4, region: any, product: Tesla T4, devices: 1, usdPerHour: 0.5, source: "https://b", date: "2026-01-02"}
`

func renting(t *testing.T, modelName string, change func(*Renting)) Renting {
	t.Helper()
	d := deployed(t, modelName, "H100", "vLLM", "FP8")
	d.Product.Name = ""
	r := Renting{Serving: Serving{Deployment: d, Load: Load{Input: 1000, Output: 1000}}}
	change(&r)
	return r
}

// offered are the offers of twoShapes.
func offered(t *testing.T, r Renting) *Offers {
	t.Helper()
	table, err := price.Parse([]byte(twoShapes))
	if err != nil {
		t.Fatal(err)
	}
	got, err := Cheapest(r, table)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestCheapest(t *testing.T) {
	got := offered(t, renting(t, "Llama-3.1-70B", func(*Renting) {}))
	if len(got.Offers) != 2 || got.Offers[0].Provider != "B" || len(got.LeftOut) != 1 || !strings.Contains(got.LeftOut[0].Reason, "does not fit") {
		t.Fatalf("got %+v", got)
	}
	o := got.Offers[0]
	want := 20 / 3600. / *o.Answer.OutputTokensPerSecond * 1e6
	if d := o.USDPerMillionTokens/want - 1; d > 1e-4 || d < -1e-4 || got.Offers[1].USDPerMillionTokens < 1.99*want {
		t.Errorf("%v USD a million, want %v", o.USDPerMillionTokens, want)
	}
	if r := o.USDPerMillionTokensRange; !(r.Low < o.USDPerMillionTokens && o.USDPerMillionTokens < r.High) {
		t.Errorf("%v is not in %+v", o.USDPerMillionTokens, r)
	}
}

// TestLimitsCost: a limit of the time per token is met, and costs tokens per second; one that nothing meets leaves
// everything out.
func TestLimitsCost(t *testing.T) {
	free := offered(t, renting(t, "Llama-3.1-70B", func(*Renting) {})).Offers[0].Answer
	tight := offered(t, renting(t, "Llama-3.1-70B", func(r *Renting) { r.TPOTLimit = 0.015 })).Offers[0].Answer
	if *tight.TPOTMillis > 15 || *tight.OutputTokensPerSecond >= *free.OutputTokensPerSecond {
		t.Errorf("%v ms and %v tokens/s under the limit, %v and %v without", *tight.TPOTMillis, *tight.OutputTokensPerSecond, *free.TPOTMillis, *free.OutputTokensPerSecond)
	}
	none := offered(t, renting(t, "Llama-3.1-70B", func(r *Renting) { r.TPOTLimit = 1e-6 }))
	if len(none.Offers) != 0 || !slices.ContainsFunc(none.LeftOut, func(l LeftOut) bool { return strings.Contains(l.Reason, "over the limit") }) {
		t.Errorf("got %+v", none)
	}
}

// TestMixturesSpreadExperts: the ways to spread a mixture have attention data groups, a dense model's have none, and all
// use every device.
func TestMixturesSpreadExperts(t *testing.T) {
	spreads := func(model string) []Degrees {
		r := renting(t, model, func(*Renting) {})
		r.Serving.Product = must(accelerator.Find("H200"))
		p := must(r.placed(nil, 1))
		return must(r.Serving.look(p, nil, 8)).spreads()
	}
	if dense := spreads("Llama-3.1-8B"); len(dense) != 10 || slices.ContainsFunc(dense, func(d Degrees) bool { return d.AttentionData > 1 || d.Expert > 1 || 8%d.Devices() != 0 }) {
		t.Errorf("dense: %+v", dense)
	}
	if mixture := spreads("Mixtral-8x7B"); !slices.Contains(mixture, Degrees{Tensor: 1, Pipeline: 1, AttentionData: 8, Expert: 8}) {
		t.Errorf("no attention data parallelism for a mixture: %+v", mixture)
	}
}

// TestBuiltInShapes: DeepSeek-R1 is served by hosts that hold it and not by single devices.
func TestBuiltInShapes(t *testing.T) {
	table, err := price.Load()
	if err != nil {
		t.Fatal(err)
	}
	got, err := Cheapest(renting(t, "DeepSeek-R1", func(*Renting) {}), table)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range got.Offers {
		if o.Count < 4 {
			t.Errorf("671 GB on %d × %s", o.Count, o.Product)
		}
	}
	if len(got.Offers) < 10 || len(got.Offers)+len(got.LeftOut) != len(table.Shapes()) {
		t.Errorf("%d offers, %d left out of %d", len(got.Offers), len(got.LeftOut), len(table.Shapes()))
	}
}

func BenchmarkCheapest(b *testing.B) {
	table := must(price.Load())
	m, _, err := model.Find("Llama-3.1-70B")
	if err != nil {
		b.Fatal(err)
	}
	r := Renting{Serving: Serving{Deployment: Deployment{Model: m, Engine: must(FindEngine("vLLM"))}, Load: Load{Input: 1000, Output: 1000}}, TPOTLimit: 0.03}
	for b.Loop() {
		if _, err := Cheapest(r, table); err != nil {
			b.Fatal(err)
		}
	}
}
