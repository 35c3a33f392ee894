package estimate

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/facts"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/model"
)

func TestLegality(t *testing.T) {
	for _, tt := range []struct {
		name, model, weights string
		degrees              Degrees
		expert               int
		want                 string // in the error; empty where it is legal
	}{
		{"one device", "Llama-3.1-8B", "BF16", Degrees{}, 1, ""},
		{"heads", "Llama-3.1-8B", "BF16", Degrees{Tensor: 3}, 0, "tp 3: the 32 heads"},
		{"key heads are repeated", "Llama-3.1-8B", "BF16", Degrees{Tensor: 16}, 1, ""},
		{"key heads", "Phi-3-medium", "BF16", Degrees{Tensor: 4}, 0, "tp 4: the 10 key and value heads"},
		{"layers", "Llama-3.1-8B", "BF16", Degrees{Pipeline: 33}, 0, "pp 33: Llama-3.1-8B has 32 layers"},
		{"no experts", "Llama-3.1-8B", "BF16", Degrees{Tensor: 2, Expert: 2}, 0, "ep 2"},
		{"no groups", "Llama-3.1-8B", "BF16", Degrees{AttentionData: 2}, 0, "use replicas 2"},
		{"ranks of experts", "Mixtral-8x7B", "BF16", Degrees{Tensor: 2, Expert: 4}, 0, "ep 4: the 2 ranks"},
		{"experts", "Qwen1.5-MoE-A2.7B", "BF16", Degrees{Tensor: 16, Expert: 8}, 0, "ep 8: the 60 experts"},
		{"negative", "Llama-3.1-8B", "BF16", Degrees{Tensor: -1}, 0, "tp -1"},
		{"huge", "Llama-3.1-8B", "BF16", Degrees{Tensor: 4096, Pipeline: 4096}, 0, "tp × pp × dp"},
		{"blocks that fit", "Qwen3-235B-A22B-FP8", "FP8", Degrees{Tensor: 4}, 1, ""},
		{"blocks that are cut", "Qwen3-235B-A22B-FP8", "FP8", Degrees{Tensor: 8}, 8, ""},
		{"blocks that are cut by groups", "Qwen3-235B-A22B-FP8", "FP8", Degrees{Tensor: 16, Expert: 2}, 0, "use 16"},
		{"no blocks", "Qwen3-235B-A22B", "BF16", Degrees{Tensor: 8}, 1, ""},
		{"blocks of a dense model", "Qwen3-32B-FP8", "FP8", Degrees{Tensor: 8}, 1, ""},
		{"cut blocks of a dense model", "Qwen3-32B-FP8", "FP8", Degrees{Tensor: 16}, 0, "tp 16: matrices of Qwen3-32B-FP8 would be cut"},
		{"a width", "Llama-2-13B", "FP16", Degrees{Tensor: 5}, 0, "tp 5: the 13824 columns of a feed-forward block"},
		{"shared experts in blocks", "DeepSeek-V3", "FP8", Degrees{Tensor: 32}, 0, "tp 32: matrices of DeepSeek-V3 would be cut"},
		{"channels are no blocks", "Llama-3.3-70B-FP8", "FP8", Degrees{Tensor: 64}, 1, ""},
		{"a latent", "DeepSeek-V3", "FP8", Degrees{Tensor: 8, Expert: 8}, 8, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, _, err := model.Find(tt.model)
			if err != nil {
				t.Fatal(err)
			}
			d, err := tt.degrees.normal()
			p := place{Deployment: Deployment{Model: m, Engine: must(FindEngine("SGLang")), Weights: v1alpha1.Precision(tt.weights), Degrees: d}}
			if err == nil {
				err = p.legal(nil, d.AttentionData, 1)
			}
			d, warnings := p.Degrees, p.warnings
			if tt.want != "" {
				if err == nil || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("error %v, want one with %q", err, tt.want)
				}
				return
			}
			if err != nil || d.Expert != tt.expert || (len(warnings) > 0) != (d.Expert != max(1, tt.degrees.Expert)) {
				t.Errorf("got %+v, %v, %v; want ep %d", d, warnings, err, tt.expert)
			}
		})
	}
}

// TestLayerSplits holds the layers of stages to what the engines do.
func TestLayerSplits(t *testing.T) {
	var file struct {
		Splits []struct {
			Layers int   `json:"layers"`
			Stages int   `json:"pp"`
			VLLM   []int `json:"vLLM"`
			SGLang []int `json:"SGLang"`
			TRT    []int `json:"TensorRT-LLM"`
		} `json:"default_layer_splits"`
	}
	facts.Decode(t, "truth/rank_groups.json", &file)
	if len(file.Splits) < 4 {
		t.Fatal("the file has another shape than expected")
	}
	for _, s := range file.Splits {
		for name, want := range map[v1alpha1.Engine][]int{v1alpha1.EngineVLLM: s.VLLM, v1alpha1.EngineSGLang: s.SGLang, v1alpha1.EngineTensorRTLLM: s.TRT} {
			e := must(engine.Find(name))
			if diff := cmp.Diff(want, e.Stages.Split(s.Layers, s.Stages)); diff != "" {
				t.Errorf("%d layers in %d stages of %s (-want +got):\n%s", s.Layers, s.Stages, name, diff)
			}
		}
	}
}

func TestFabric(t *testing.T) {
	for _, tt := range []struct {
		name, device string
		degrees      Degrees
		perNode      int
		link         string
		host         bool
		warning      string
	}{
		{"inside a node", "H100", Degrees{Tensor: 8}, 8, "NVLink4+NVSwitch3", false, ""},
		{"two nodes", "H100", Degrees{Tensor: 16}, 8, "network", true, "16 ranks share layers and a node has 8 devices"},
		{"groups over two nodes", "H200", Degrees{Tensor: 8, AttentionData: 2}, 8, "NVLink4+NVSwitch3", false, "exchange tokens over the network"},
		{"stages over two nodes", "H100", Degrees{Tensor: 8, Pipeline: 2}, 8, "NVLink4+NVSwitch3", false, ""},
		{"a rack", "GB200", Degrees{Tensor: 64}, 4, "NVLink5+NVSwitch4 rack", false, ""},
		{"more than a rack", "GB300", Degrees{Tensor: 128}, 4, "network", true, "over the network"},
		{"PCIe", "L40S", Degrees{Tensor: 4}, 8, "PCIe4 x16", true, ""},
		{"a bridged pair", "H100 NVL", Degrees{Tensor: 2}, 8, "NVLink4 bridge (2-way)", false, ""},
		{"more than a pair", "H100 NVL", Degrees{Tensor: 4}, 8, "PCIe5x16", true, "joins 2 devices"},
		{"a bridged quad", "H200 NVL", Degrees{Tensor: 4}, 8, "NVLink4 bridge (2/4-way)", false, ""},
		{"one device a node", "GH200 480GB", Degrees{Tensor: 2}, 1, "network", true, "a node has 1 device:"},
		{"a mesh", "MI300X", Degrees{Tensor: 8}, 8, "XGMI 7x64 GB/s/dir", false, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, err := accelerator.Find(tt.device)
			if err != nil {
				t.Fatal(err)
			}
			d, err := tt.degrees.normal()
			if err != nil {
				t.Fatal(err)
			}
			on := place{Deployment: Deployment{Product: p, Degrees: d, DevicesPerNode: tt.perNode, NetworkGbps: 200}}
			on.fabric()
			link, device, warnings := on.link, on.device, on.warnings
			if link.Name != tt.link || device.HostLink != tt.host || device.Link != float64(link.BytesPerSecond) || link.BytesPerSecond < 1e9 {
				t.Errorf("got %+v, host %v; want %s, host %v", link, device.HostLink, tt.link, tt.host)
			}
			if said := strings.Join(warnings, "; "); (said == "") != (tt.warning == "") || !strings.Contains(said, tt.warning) {
				t.Errorf("warnings %q, want %q", said, tt.warning)
			}
		})
	}
}

// TestEveryProductHasALink: devices of every product that computes in 16 bits exchange data at some rate.
func TestEveryProductHasALink(t *testing.T) {
	for _, p := range accelerator.Products() {
		if n := p.DevicesPerNode; n < 1 {
			t.Errorf("%s: %d devices a node", p.Name, n)
		}
		on := place{Deployment: Deployment{Product: p, Degrees: Degrees{Tensor: 2, Pipeline: 1, AttentionData: 1, Expert: 1}, DevicesPerNode: p.DevicesPerNode, NetworkGbps: 200}}
		on.fabric()
		if on.link.Name == "" || on.link.BytesPerSecond < 1e8 {
			t.Errorf("%s: link %+v", p.Name, on.link)
		}
	}
}
