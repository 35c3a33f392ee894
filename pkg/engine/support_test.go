package engine

import (
	"cmp"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/test/document"
)

// Devices as the catalogue and as inventories have them.
var (
	t4       = Device{Vendor: "nvidia", Product: "Tesla T4", Architecture: "Turing"}
	v100     = Device{Vendor: "nvidia", Product: "Tesla V100-SXM2-16GB", Architecture: "Volta"}
	p100     = Device{Vendor: "nvidia", Product: "Tesla P100-PCIE-16GB", Architecture: "Pascal"}
	a100     = Device{Vendor: "nvidia", Product: "NVIDIA A100-SXM4-80GB", Architecture: "Ampere"}
	h100     = Device{Vendor: "nvidia", Product: "NVIDIA H100 80GB HBM3", Architecture: "Hopper"}
	b200     = Device{Vendor: "nvidia", Product: "NVIDIA B200", Architecture: "Blackwell"}
	mi210    = Device{Vendor: "amd", Product: "AMD Instinct MI210", Architecture: "CDNA2"}
	mi300x   = Device{Vendor: "amd", Product: "AMD Instinct MI300X", Architecture: "CDNA3"}
	mi355x   = Device{Vendor: "amd", Product: "AMD Instinct MI355X", Architecture: "CDNA4"}
	gaudi3   = Device{Vendor: "intel", Product: "HL-325L (Gaudi3 OAM)", Architecture: "Gaudi3"}
	lunar    = Device{Vendor: "intel", Product: "NPU4 (Lunar Lake)", Architecture: "NPU"}
	v5e      = Device{Vendor: "google", Product: "TPU v5e (v5 lite)", Architecture: "TPU"}
	v5eHost  = Device{Vendor: "google", Product: "TPU v5e (v5 lite)", Architecture: "v5e"}
	v6e      = Device{Vendor: "google", Product: "TPU v6e (Trillium)", Architecture: "TPU"}
	v7x      = Device{Vendor: "google", Product: "TPU7x (Ironwood)", Architecture: "TPU"}
	v2       = Device{Vendor: "google", Product: "TPU v2", Architecture: "TPU"}
	inf2     = Device{Vendor: "aws", Product: "NeuronDevice (Inferentia2)", Architecture: "Inferentia2"}
	trn1     = Device{Vendor: "aws", Product: "NeuronDevice (Trainium)", Architecture: "Trainium"}
	cs3      = Device{Vendor: "cerebras", Product: "CS-3", Architecture: "WSE-3"}
	ai100    = Device{Vendor: "qualcomm", Product: "AI 100 Ultra", Architecture: "Cloud AI 100"}
	rngd     = Device{Vendor: "furiosa", Product: "RNGD", Architecture: "RNGD"}
	groq     = Device{Vendor: "groq", Product: "TSP [GroqChip]", Architecture: "LPU v1"}
	ascend   = Device{Vendor: "huawei", Product: "Ascend 910B3", Architecture: "Ascend"}
	ascendLo = Device{Vendor: "huawei", Product: "Ascend 310P3", Architecture: "Ascend"}
	m3       = Device{Vendor: "apple", Product: "Apple M3 Max", Architecture: "Apple Silicon"}
	strix    = Device{Vendor: "amd", Product: "RyzenAI-npu4 (Strix/Krackan/Strix Halo)", Architecture: "XDNA2"}
)

// TestRuns holds the table to what the engines' documents say, each case with what a refusal must say.
func TestRuns(t *testing.T) {
	none := v1alpha1.Precision("")
	for _, c := range []struct {
		engine  string
		on      Device
		use     Use
		weights v1alpha1.Precision
		want    string // part of the refusal; empty where it runs
	}{
		{"vLLM", h100, Serving, "NVFP4", ""},
		{"vLLM", a100, Serving, "FP8", ""},
		{"vLLM", a100, Serving, "MXFP4", ""},
		{"vLLM", t4, Serving, "FP16", ""},
		{"vLLM", t4, Serving, "INT4", ""},
		{"vLLM", t4, Serving, "BF16", `it runs no weights in BF16 on Tesla T4 of nvidia (https://docs.vllm.ai/`},
		{"vLLM", t4, Serving, "MXFP4", "it runs no weights in MXFP4 on Tesla T4"},
		{"vLLM", v100, Serving, "INT4", ""},
		{"vLLM", v100, Serving, "FP8", "use FP32, FP16, INT8 or INT4"},
		{"vLLM", p100, Serving, none, "it does not run on Tesla P100-PCIE-16GB of nvidia (https://docs.vllm.ai/"},
		{"vLLM", mi300x, Serving, "MXFP4", ""},
		{"vLLM", mi355x, Serving, "NVFP4", "it runs no weights in NVFP4"},
		{"vLLM", mi210, Serving, "FP8", "it runs no weights in FP8"},
		{"vLLM", gaudi3, Serving, "FP8", ""},
		{"vLLM", gaudi3, Serving, "NVFP4", "it runs no weights in NVFP4"},
		{"vLLM", v5e, Serving, "INT8", ""},
		{"vLLM", v5eHost, Serving, "INT8", ""},
		{"vLLM", v5e, Serving, "NVFP4", "it runs no weights in NVFP4"},
		{"vLLM", v2, Serving, none, "it does not run on TPU v2"},
		{"vLLM", trn1, Serving, "MXFP4", "it runs no weights in MXFP4"},
		{"vLLM", cs3, Serving, none, "it does not run on CS-3 of cerebras"},
		{"vLLM", groq, Serving, none, "it does not run on"},
		{"vLLM", rngd, Serving, none, "it does not run on RNGD"},
		{"vLLM", ai100, Serving, "INT4", ""},
		{"vLLM", m3, Serving, "INT4", ""},
		{"vLLM", lunar, Serving, none, "it does not run on"},
		{"SGLang", t4, Serving, "FP16", ""},
		{"SGLang", t4, Serving, "FP8", "it runs no weights in FP8"},
		{"SGLang", v100, Serving, none, "it does not run on"},
		{"SGLang", h100, Serving, "NVFP4", "it runs no weights in NVFP4"},
		{"SGLang", b200, Serving, "NVFP4", ""},
		{"SGLang", mi300x, Serving, "NVFP4", ""},
		{"SGLang", v5e, Serving, none, "it does not run on TPU v5e (v5 lite) of google (https://docs.sglang.io/docs/hardware-platforms/overview.md): use vLLM"},
		{"SGLang", v5eHost, Serving, none, "it does not run on TPU v5e"},
		{"SGLang", v6e, Serving, "BF16", ""},
		{"SGLang", v7x, Serving, "BF16", ""},
		{"SGLang", v6e, Serving, "INT8", "it runs no weights in INT8"},
		{"SGLang", gaudi3, Serving, none, "use vLLM"},
		{"TensorRT-LLM", h100, Serving, "BF16", ""},
		{"TensorRT-LLM", a100, Serving, "BF16", ""},
		{"TensorRT-LLM", a100, Serving, "FP8", "it runs no weights in FP8"},
		{"TensorRT-LLM", h100, Serving, "MXFP4", ""},
		{"TensorRT-LLM", h100, Serving, "NVFP4", "it runs no weights in NVFP4"},
		{"TensorRT-LLM", b200, Serving, "NVFP4", ""},
		{"TensorRT-LLM", b200, Serving, "INT4", "it runs no weights in INT4"},
		{"TensorRT-LLM", t4, Serving, none, "use vLLM, SGLang"},
		{"TensorRT-LLM", mi300x, Serving, none, "it does not run on AMD Instinct MI300X of amd (https://nvidia.github.io/TensorRT-LLM/supported-hardware.html): use vLLM, SGLang"},
		{"TensorRT-LLM", v5e, Serving, none, "it does not run on"},
		{"TensorRT-LLM", gaudi3, Serving, none, "it does not run on"},
		{"Megatron", h100, Training, "BF16", ""},
		{"Megatron", mi300x, Training, "BF16", ""},
		{"Megatron", ascend, Training, "BF16", ""},
		{"Megatron", v5e, Training, "BF16", "it does not run on TPU v5e (v5 lite) of google"},
		{"Megatron", gaudi3, Training, none, "use DeepSpeed or Torch"},
		{"DeepSpeed", gaudi3, Training, "BF16", ""},
		{"DeepSpeed", v5e, Training, none, "use Torch or JAX"},
		{"Torch", v5e, Training, "BF16", ""},
		{"Torch", ascend, Training, "BF16", ""},
		{"Torch", ascendLo, Training, "BF16", "serves models and trains none"},
		{"JAX", gaudi3, Training, none, "it does not run on"},
		{"JAX", v5e, Serving, "INT8", ""},
		{"Torch", inf2, Training, "BF16", "serves models and trains none (https://awsdocs-neuron"},
		{"Torch", inf2, Serving, "BF16", ""},
		{"Torch", trn1, Training, "BF16", ""},
		{"vLLM", h100, Training, "BF16", "it serves models and trains none: use Megatron, DeepSpeed, Torch or JAX"},
		{"SGLang", Device{}, Training, none, "it serves models and trains none"},
		{"TensorRT-LLM", h100, Training, none, "trains none"},
		{"Megatron", h100, Serving, "BF16", ""},
		{"MPI", ai100, Training, none, "AI 100 Ultra of qualcomm serves models and trains none"},
		{"MPI", rngd, Training, none, "trains none"},
		{"MPI", groq, Training, none, "trains none"},
		{"MPI", lunar, Training, none, "trains none"},
		{"MPI", strix, Training, none, "trains none"},
		{"MPI", cs3, Serving, "INT4", ""},
		{"vLLM", Device{Vendor: "nvidia"}, Serving, "NVFP4", ""},                                    // no more is known of the device
		{"vLLM", Device{}, Serving, "NVFP4", ""},                                                    // nothing is
		{"TensorRT-LLM", Device{Vendor: "amd"}, Serving, none, "it does not run on devices of amd"}, // no more needs to be
	} {
		e, err := Find(v1alpha1.Engine(c.engine))
		if err != nil {
			t.Fatal(err)
		}
		err = e.Runs(c.on, c.use, c.weights, nil)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s in %s, use %d: got %v, want %q", c.engine, c.on.Product, c.weights, c.use, err, c.want)
		}
	}
}

// TestLacks: a model with sparse attention is refused on devices that the engine has no kernel of it for, with the engines that have one, and
// not where too little is known of the device.
func TestLacks(t *testing.T) {
	sparse := &v1alpha1.Architecture{Attention: v1alpha1.Attention{MLA: &v1alpha1.MLA{Indexer: &v1alpha1.Indexer{}}}}
	compressed := &v1alpha1.Architecture{Attention: v1alpha1.Attention{Compressed: &v1alpha1.Compressed{}}}
	text, speech := &v1alpha1.Architecture{Encoder: &v1alpha1.Encoder{}}, &v1alpha1.Architecture{Encoder: &v1alpha1.Encoder{Channels: 128}}
	latent := &v1alpha1.Architecture{Attention: v1alpha1.Attention{MLA: &v1alpha1.MLA{}}}
	a100, h100 := Device{Vendor: "nvidia", Product: "NVIDIA A100-SXM4-80GB", Architecture: "Ampere"}, Device{Vendor: "nvidia", Product: "NVIDIA H100 80GB HBM3", Architecture: "Hopper"}
	mi300x := Device{Vendor: "amd", Product: "AMD Instinct MI300X", Architecture: "CDNA3"}
	const why = "it runs no models with sparse attention on NVIDIA A100-SXM4-80GB of nvidia (https://github.com/vllm-project/vllm/issues/38006): use SGLang"
	for _, c := range []struct {
		engine *Engine
		on     Device
		use    Use
		of     *v1alpha1.Architecture
		want   string
	}{
		{&vllm, a100, Serving, sparse, why},
		{&vllm, a100, Serving, compressed, why},
		{&vllm, a100, Serving, latent, ""},
		{&vllm, a100, Serving, nil, ""},
		{&vllm, h100, Serving, sparse, ""},
		{&vllm, h100, Serving, text, "it runs no models with an encoder of text beside the decoder on NVIDIA H100 80GB HBM3"},
		{&vllm, h100, Serving, speech, ""},
		{&vllm, mi300x, Serving, sparse, ""},
		{&vllm, Device{Vendor: "nvidia"}, Serving, sparse, ""},
		{&sglang, a100, Serving, sparse, ""},
	} {
		err := c.engine.Runs(c.on, c.use, v1alpha1.FP8, c.of)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s on %s: got %v, want %q", c.engine.Name, c.on.Product, err, c.want)
		}
	}
}

// TestSupportIsDocumented wants a source of every entry, in the form of an address, and formats that weights are stored in.
func TestSupportIsDocumented(t *testing.T) {
	entries := slices.Clone(inferenceOnly)
	for e := range Rows() {
		entries = append(entries, e.Support...)
		if len(e.Support) > 0 && !strings.HasPrefix(e.Documented, "https://") {
			t.Errorf("%s: Documented %q", e.Name, e.Documented)
		}
	}
	for i := range entries {
		s := &entries[i]
		if s.Vendor == "" || s.Vendor != strings.ToLower(s.Vendor) || !strings.HasPrefix(s.Source, "https://") {
			t.Errorf("%+v: needs a vendor in lower case and a source", s)
		}
		for _, p := range s.Makes {
			if !setOf(s.Precisions).Has(p) {
				t.Errorf("%+v: makes %s, which it does not run", s, p)
			}
		}
		for _, p := range s.Precisions {
			if !slices.Contains(stored[:], p) {
				t.Errorf("%+v: weights are not stored in %s", s, p)
			}
		}
	}
}

var update = flag.Bool("update", false, "write docs/reference/engines.md and docs/use/serving-options.md anew: review the difference before committing it")

// TestTheDocumentedSupport holds the table of docs/reference/engines.md to the rows.
func TestTheDocumentedSupport(t *testing.T) {
	document.Table(t, "../../docs/reference/engines.md", documentedSupport(), *update)
}

func documentedSupport() string {
	var b strings.Builder
	b.WriteString("| engine | vendor | devices | weights in | of which it makes while loading | version |\n| --- | --- | --- | --- | --- | --- |\n")
	for e := range Rows() {
		for i := range e.Support {
			s := &e.Support[i]
			devices, formats := "all", "all that the program does"
			if len(s.Devices) > 0 {
				devices = strings.ReplaceAll(strings.Join(s.Devices, ", "), " (", "") // the end of a word in names of products
			}
			if set := setOf(s.Precisions); len(s.Precisions) > 0 || e.Uses != nil && !e.madeFor(Training) {
				formats = strings.Trim(fmt.Sprint(set.list()), "[]")
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | [%s](%s) |\n", e.Name, s.Vendor, devices, formats, strings.Trim(fmt.Sprint(s.Makes), "[]"), cmp.Or(s.Looked, "now"), s.Source)
		}
	}
	return b.String()
}

// TestMakes: what an engine makes while loading depends on the device, and it has a word for each such format.
func TestMakes(t *testing.T) {
	for _, c := range []struct {
		engine v1alpha1.Engine
		on     Device
		want   bool
	}{
		{v1alpha1.EngineVLLM, Device{Vendor: "nvidia", Architecture: "Hopper"}, true},
		{v1alpha1.EngineVLLM, Device{Vendor: "nvidia", Architecture: "Volta"}, false},
		{v1alpha1.EngineVLLM, Device{Vendor: "amd", Architecture: "CDNA3"}, true},
		{v1alpha1.EngineVLLM, Device{Vendor: "intel", Architecture: "Gaudi3"}, false},
		{v1alpha1.EngineVLLM, Device{Vendor: "google", Architecture: "v6e"}, false},
		{v1alpha1.EngineVLLM, Device{}, true},
		{v1alpha1.EngineSGLang, Device{Vendor: "nvidia", Architecture: "Turing"}, false},
		{v1alpha1.EngineTensorRTLLM, Device{Vendor: "nvidia", Architecture: "Hopper"}, false},
		{v1alpha1.EngineMPI, Device{}, false},
	} {
		e, err := Find(c.engine)
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Makes(&c.on).Has(v1alpha1.FP8); got != c.want {
			t.Errorf("%s makes FP8 on %+v: %t, want %t", c.engine, c.on, got, c.want)
		}
	}
	for e := range Rows() {
		for _, p := range e.Makes(&Device{}).list() {
			if !e.MakesWhileLoading(v1alpha1.BF16, p) {
				t.Errorf("%s makes %s, and has no word for it", e.Name, p)
			}
		}
	}
}
