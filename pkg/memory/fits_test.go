package memory

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/facts"
	"github.com/rankwright/rankwright/pkg/model"
	"github.com/rankwright/rankwright/test/figure"
)

// ran is a configuration that somebody measured, so it fitted.
type ran struct {
	model, device string
	engine        v1alpha1.Engine
	weights, kv   v1alpha1.Precision
	layout        Layout
	length        int64
}

// reported is the memory that the driver reports of the devices in the facts' throughput tables, in MiB.
var reported = []struct {
	device string
	mib    int64
}{
	{"A100-SXM4-80GB", 81920},
	{"H100", 81559},
	{"h100_sxm", 81559},
	{"GH200", 97871},
	{"H200", 143771},
	{"h200_sxm", 143771},
	{"GB200", 189471},
	{"B200", 183359},
	{"b200_sxm", 183359},
	{"b300_sxm", 275040},
	{"L40S", 46068},
	{"RTX PRO 6000", 97887},
}

func deviceOf(name string) (Device, bool) {
	for _, r := range reported {
		if strings.HasPrefix(name, r.device) {
			return Device{Vendor: "nvidia", Product: name, TotalBytes: r.mib * mib}, true
		}
	}
	return Device{}, false
}

// TestWhatRanFits gives every configuration of the throughput tables to the engine it ran on: at least one sequence of
// its length must fit.
func TestWhatRanFits(t *testing.T) {
	rows := append(trtllmRows(t), inferencexRows(t)...)
	checked, fitting, unknown := 0, 0, map[string]bool{}
	for _, r := range rows {
		m, err := model.Lookup(r.model)
		d, ok := deviceOf(r.device)
		if err != nil || !ok {
			unknown[r.model+" on "+r.device] = true
			continue
		}
		checked++
		s := Setup{Model: m, Engine: r.engine, Weights: r.weights, KV: r.kv, Layout: r.layout, Inference: &Inference{MaxModelLen: r.length}}
		f, err := New(s, d)
		if err != nil {
			t.Errorf("%s: %v", describe(r), err)
			continue
		}
		fits := true
		for first, stages := 0, r.layout.Pipeline; first < f.Layers(); {
			// Stages as even as the layers go, the longer ones first.
			end := first + (f.Layers()-first+stages-1)/stages
			if room := f.Room(first, end, d); !room.Fits() {
				t.Errorf("%s: layers %d to %d: %s", describe(r), first, end, room.Reason)
				fits = false
			}
			first, stages = end, max(1, stages-1)
		}
		if fits {
			fitting++
		}
	}
	t.Logf("%d were skipped, because the catalogue lacks the model or the device: %v", len(rows)-checked, unknown)
	figure.All("what fits", "configurations of the throughput and latency tables, which ran", fitting, checked, 350).Hold(t)
}

func describe(r ran) string {
	return fmt.Sprintf("%s %s on %s with %s, %+v, %d tokens", r.model, r.weights, r.device, r.engine, r.layout, r.length)
}

func trtllmRows(t *testing.T) []ran {
	t.Helper()
	var file struct {
		Rows []struct {
			Model  string             `json:"hf_id"`
			GPU    string             `json:"gpu"`
			W      v1alpha1.Precision `json:"weights_dtype"`
			KV     v1alpha1.Precision `json:"kv_dtype"`
			TP     int                `json:"tp"`
			PP     int                `json:"pp"`
			EP     int                `json:"ep"`
			DP     int                `json:"attention_dp_size"`
			Input  int64              `json:"isl"`
			Output int64              `json:"osl"`
		} `json:"rows"`
	}
	facts.Decode(t, "truth/trtllm_throughput.json", &file)
	var rows []ran
	for _, r := range file.Rows {
		layout := Layout{Tensor: r.TP, Pipeline: max(1, r.PP), Expert: max(1, r.EP), AttentionData: max(1, r.DP)}
		rows = append(rows, ran{r.Model, r.GPU, v1alpha1.EngineTensorRTLLM, precision(string(r.W)), precision(string(r.KV)), layout, r.Input + r.Output})
	}
	return rows
}

// precision returns the precision of a word in the tables.
func precision(name string) v1alpha1.Precision {
	name = strings.ToUpper(name)
	if name == "FP4" {
		return v1alpha1.NVFP4
	}
	return v1alpha1.Precision(name)
}

func inferencexRows(t *testing.T) []ran {
	t.Helper()
	var table struct {
		Columns []string `json:"columns"`
		Rows    [][]any  `json:"rows"`
	}
	facts.Decode(t, "truth/inferencex_latency.json.gz", &table)
	engineNames := map[string]v1alpha1.Engine{"vllm": v1alpha1.EngineVLLM, "sglang": v1alpha1.EngineSGLang, "trtllm": v1alpha1.EngineTensorRTLLM}
	rows := make([]ran, 0, len(table.Rows))
	for _, cells := range table.Rows {
		cell := map[string]any{}
		for i, column := range table.Columns {
			cell[column] = cells[i]
		}
		number := func(column string) int { n, _ := cell[column].(float64); return int(n) }
		word := func(column string) string { s, _ := cell[column].(string); return s }
		rows = append(rows, ran{
			word("model"), word("system"), engineNames[word("backend")], precision(word("precision")), "",
			Layout{Tensor: number("tp"), Pipeline: max(1, number("pp")), Expert: max(1, number("moe_ep"))},
			int64(number("isl") + number("osl")),
		})
	}
	return rows
}

// TestWhatDoesNotFit holds the negative answers that are known.
func TestWhatDoesNotFit(t *testing.T) {
	cases := []struct {
		name, model string
		weights     v1alpha1.Precision
		layout      Layout
		inference   Inference
		device      Device
		reason      string
	}{
		{
			// vLLM's own refusal: 4.60 GiB for the cache hold 37696 of 131072 tokens.
			"8B at its full context on an L4", "Llama-3.1-8B", v1alpha1.BF16,
			Layout{},
			Inference{MaxModelLen: 131072, BatchedTokens: 2048, BatchedSequences: 32},
			Device{Vendor: "nvidia", Product: "NVIDIA L4", TotalBytes: 23034 * mib},
			"the cache of 1 sequences takes 16.00 GiB",
		},
		{
			"70B in 16 bits on one H100", "Llama-3.1-70B", v1alpha1.BF16,
			Layout{},
			Inference{MaxModelLen: 128},
			Device{Vendor: "nvidia", Product: "NVIDIA H100 80GB HBM3", TotalBytes: 81559 * mib},
			"beside the cache",
		},
		{
			"405B in FP8 on four H100", "Llama-3.1-405B", v1alpha1.FP8,
			Layout{Tensor: 4},
			Inference{MaxModelLen: 128},
			Device{Vendor: "nvidia", Product: "NVIDIA H100 80GB HBM3", TotalBytes: 81559 * mib},
			"beside the cache",
		},
		{
			"a device that others fill", "Llama-3.1-8B", v1alpha1.BF16,
			Layout{},
			Inference{MaxModelLen: 128},
			Device{Vendor: "nvidia", Product: "NVIDIA H100 80GB HBM3", TotalBytes: 81559 * mib, OthersBytes: 20 * gib},
			"lower the utilization or free the device",
		},
	}
	refused := 0
	for _, c := range cases {
		right := t.Run(c.name, func(t *testing.T) {
			f, err := New(Setup{Model: lookup(t, c.model), Weights: c.weights, Layout: c.layout, Inference: &c.inference}, c.device)
			if err != nil {
				t.Fatal(err)
			}
			if room := f.Room(0, f.Layers(), c.device); room.Fits() || !strings.Contains(room.Reason, c.reason) {
				t.Errorf("got %+v, want a reason with %q", room, c.reason)
			}
		})
		if right {
			refused++
		}
	}
	figure.All("what fits", "setups that are known not to fit, refused with the reason", refused, len(cases), 4).Hold(t)
}
