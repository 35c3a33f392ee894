package paths

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"testing"

	"github.com/rankwright/rankwright/internal/facts"
	"github.com/rankwright/rankwright/pkg/plan/pipeline"
	"github.com/rankwright/rankwright/test/figure"
)

// instance is a fleet of the facts: the heterogeneous clusters of Helix (ASPLOS 2025), with the rates that were measured
// on them by the number of layers.
type instance struct {
	Name            string  `json:"instance"`
	Layers          int     `json:"num_layers"`
	TokenBytes      float64 `json:"token_bytes"`
	ActivationBytes float64 `json:"activation_bytes"`
	Types           map[string]struct {
		Rates map[string]float64 `json:"tokens_per_s_by_layers"`
	} `json:"node_types"`
	Nodes []struct {
		ID   int    `json:"id"`
		Type string `json:"type"`
	} `json:"nodes"`
	Layouts map[string]struct {
		Spans   map[string][2]int `json:"layers"`
		MaxFlow float64           `json:"maxflow_exact_edges"`
	} `json:"layouts"`
	DistinctLinks [][2]float64         `json:"distinct_link_bw_lat"`
	Links         [][4]json.RawMessage `json:"links_full"`
}

func instances(t testing.TB) map[string]instance {
	t.Helper()
	var file struct {
		Instances []instance `json:"instances"`
	}
	facts.Decode(t, "truth/helix_heterogeneous.json", &file)
	result := map[string]instance{}
	for _, i := range file.Instances {
		result[i.Name] = i
	}
	return result
}

// fleet turns an instance into a problem. Its bandwidths count as bytes a second, as the facts say.
func (i *instance) fleet(t testing.TB) Fleet {
	t.Helper()
	f := Fleet{Layers: i.Layers, Links: &Links{}}
	for _, n := range i.Nodes {
		rates := make([]float64, len(i.Types[n.Type].Rates))
		for k := range rates {
			rates[k] = i.Types[n.Type].Rates[strconv.Itoa(k+1)]
		}
		f.Devices = append(f.Devices, Device{Rates: rates})
	}
	n := len(f.Devices)
	f.Links.In, f.Links.Out = make([]float64, n), make([]float64, n)
	f.Links.Between = make([][]float64, n)
	for a := range n {
		f.Links.Between[a] = make([]float64, n)
	}
	set := func(from, to int, bandwidth float64) {
		switch {
		case from == Client:
			f.Links.In[to] = bandwidth / i.TokenBytes
		case to == Client:
			f.Links.Out[from] = bandwidth / i.TokenBytes
		default:
			f.Links.Between[from][to] = bandwidth / i.ActivationBytes
			f.Links.Between[to][from] = bandwidth / i.ActivationBytes
		}
	}
	if i.Links == nil {
		for a := range n {
			set(Client, a, i.DistinctLinks[0][0])
			set(a, Client, i.DistinctLinks[0][0])
			for b := range a {
				set(a, b, i.DistinctLinks[0][0])
			}
		}
	}
	for _, link := range i.Links {
		bandwidth, err := strconv.ParseFloat(string(link[2]), 64)
		if err != nil {
			t.Fatal(err)
		}
		set(end(t, link[0]), end(t, link[1]), bandwidth)
	}
	return f
}

func end(t testing.TB, raw json.RawMessage) int {
	t.Helper()
	switch text := string(raw); text {
	case `"source"`, `"sink"`:
		return Client
	default:
		n, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
}

// published are the fleets of the table that comes with the code. Devices of one type are alike, and so are all links.
func published(t testing.TB) map[string]*Fleet {
	t.Helper()
	fleets := map[string]*Fleet{}
	for _, row := range facts.Table(t, "testdata/fleets.csv") {
		name, link := row.Text("fleet"), row.Number("link_bytes_per_second")
		f := fleets[name]
		if f == nil {
			f = &Fleet{Layers: int(row.Whole("layers")), Links: &Links{}}
			fleets[name] = f
		}
		if row.Whole("span") == 1 {
			for range row.Whole("devices") {
				f.Devices = append(f.Devices, Device{})
				f.Links.In = append(f.Links.In, link/row.Number("token_bytes"))
			}
			f.Links.Out, f.Links.Between = f.Links.In, make([][]float64, len(f.Devices))
			for i := range f.Links.Between {
				f.Links.Between[i] = slices.Repeat([]float64{link / row.Number("activation_bytes")}, len(f.Devices))
			}
		}
		for i := len(f.Devices) - int(row.Whole("devices")); i < len(f.Devices); i++ {
			f.Devices[i].Rates = append(f.Devices[i].Rates, row.Number("tokens_per_second"))
		}
	}
	return fleets
}

// TestOptimumOfPublishedRates finds the optimum of the two fleets of Helix whose links are alike: the first was proven there,
// by an integer programme that took an hour.
func TestOptimumOfPublishedRates(t *testing.T) {
	fleets := published(t)
	for name, want := range map[string]float64{"quality10_llama30b": 286.5874097546421, "single24_llama70b": 2045.6410473362616} {
		f, ok := fleets[name]
		if !ok {
			t.Fatalf("the table has no fleet %s", name)
		}
		o, err := Optimize(*f, 0)
		if err != nil {
			t.Fatal(err)
		}
		if !equal(o.Rate, want) || !o.Proven {
			t.Errorf("%s: got %v tokens/s (proven: %t), want %v", name, o.Rate, o.Proven, want)
		}
	}
}

func equal(a, b float64) bool { return math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b)) }

// TestThroughputOfPublishedLayouts replays each layout of the facts.
func TestThroughputOfPublishedLayouts(t *testing.T) {
	for name, i := range instances(t) {
		f := i.fleet(t)
		for by, layout := range i.Layouts {
			spans := make([]Span, len(f.Devices))
			for id, s := range layout.Spans {
				n, err := strconv.Atoi(id)
				if err != nil {
					t.Fatal(err)
				}
				spans[n] = Span{s[0], s[1]}
			}
			got, _, err := f.Throughput(spans)
			if err != nil {
				t.Fatalf("%s, %s: %v", name, by, err)
			}
			if !equal(got, layout.MaxFlow) {
				t.Errorf("%s, %s: carries %v tokens/s, the facts say %v", name, by, got, layout.MaxFlow)
			}
		}
	}
}

// TestOptimumOfPublishedFleets proves the optimum of each fleet of the facts.
func TestOptimumOfPublishedFleets(t *testing.T) {
	known := instances(t)
	for _, test := range []struct {
		instance string
		rate     float64
	}{
		{"quality10_llama30b", 286.5874097546421},
		{"sub_t4_llama30b", 397.68506408357825},
		{"sub_a100_llama30b", 1044.5333450564908},
		{"single24_llama70b", 2045.6410473362616},
	} {
		t.Run(test.instance, func(t *testing.T) {
			i, ok := known[test.instance]
			if !ok {
				t.Fatal("the facts do not have it")
			}
			o, err := Optimize(i.fleet(t), 0)
			if err != nil {
				t.Fatal(err)
			}
			figure.Figure{
				Subject: "helix", What: test.instance + ", tokens a second", Measured: fmt.Sprintf("%.4f, bound %.4f, %d steps", o.Rate, o.Bound, o.Steps),
				Bar: fmt.Sprintf("%.4f, proven", test.rate), Holds: equal(o.Rate, test.rate) && o.Proven,
			}.Hold(t)
		})
	}
}

// TestSplitOfPublishedFleets finds that one pipeline reaches the optimum of each of these fleets.
func TestSplitOfPublishedFleets(t *testing.T) {
	for name, i := range instances(t) {
		f := i.fleet(t)
		var rates [][]float64
		var c pipeline.Chain
		for _, kind := range f.kinds() {
			rates = append(rates, f.Devices[kind[0]].Rates)
			c.Devices = append(c.Devices, len(kind))
		}
		c.Layers = f.Layers
		c.Seconds = func(class, start, end int) float64 {
			if end-start > len(rates[class]) {
				return math.Inf(1)
			}
			return 1 / rates[class][end-start-1]
		}
		d, err := pipeline.Split(c)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		o, err := Optimize(f, 0)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !equal(1/d.Slowest, o.Rate) {
			t.Errorf("%s: one pipeline carries %v tokens/s, the optimum is %v", name, 1/d.Slowest, o.Rate)
		}
	}
}
