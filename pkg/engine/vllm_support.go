package engine

import "github.com/rankwright/rankwright/api/v1alpha1"

// Where vLLM's support is documented. Of its own tables, the one of kernels counts what runs with weights that are expanded while they are
// multiplied (Marlin); the platforms' lists of formats name what their kernels read.
const (
	vllmHardware = "https://docs.vllm.ai/en/latest/getting_started/installation/"
	vllmKernels  = "https://docs.vllm.ai/en/latest/features/quantization/"
	vllmVolta    = "https://docs.vllm.ai/en/v0.14.0/features/quantization/"
	vllmROCm     = "https://github.com/vllm-project/vllm/blob/main/vllm/platforms/rocm.py"
	vllmXPU      = "https://github.com/vllm-project/vllm/blob/main/vllm/platforms/xpu.py"
	vllmGaudi    = "https://docs.vllm.ai/projects/gaudi/en/latest/features/supported_features.html"
	vllmTPU      = "https://docs.vllm.ai/projects/tpu/en/latest/"
	vllmNeuron   = "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/vllm-neuron/docs/index.html"
	vllmNxD      = "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/libraries/vllm-neuron/neuron-inference-overview.html"
	vllmAscend   = "https://docs.vllm.ai/projects/ascend/en/releases-v0.20.2rc/faqs.html"
	vllmMetal    = "https://docs.vllm.ai/projects/vllm-metal"
	vllmQAIC     = "https://docs.qualcomm.com/doc/80-99100-3/topic/features.html"
	vllmTT       = "https://docs.tenstorrent.com/tt-awesome/entry/vllm-tt-plugin/"
	ascend310    = "https://docs.vllm.ai/projects/ascend/en/v0.23.0/tutorials/hardwares/310p.html"
)

// wide are the formats that need no kernels of their own, half those that a device without BF16 computes.
var (
	wide = []v1alpha1.Precision{v1alpha1.FP32, v1alpha1.BF16, v1alpha1.FP16}
	half = []v1alpha1.Precision{v1alpha1.FP32, v1alpha1.FP16}
	fp8  = []v1alpha1.Precision{v1alpha1.FP8}
)

// with returns formats with further ones.
func with(list []v1alpha1.Precision, more ...v1alpha1.Precision) []v1alpha1.Precision {
	return append(list[:len(list):len(list)], more...)
}

// vllmSupport is read for NVIDIA from the table of kernels, which has Turing read MXFP4 last of all; for AMD from the platform's list, whose
// FP8 and MXFP4 need CDNA3, or RDNA4 for FP8, and whose kernels for NVFP4 (Petit) are for CDNA2 and CDNA3. The experimental generations of
// TPUs are among those that run. On Gaudi the plugin has AWQ, GPTQ and FP8 by INC. Ascend's 310P is experimental.
var vllmSupport = []Support{
	{
		Vendor: "nvidia", Devices: []string{"Volta"}, Precisions: with(half, v1alpha1.INT8, v1alpha1.INT4),
		Source: vllmVolta, Looked: "0.14.0",
	},
	{
		Vendor: "nvidia", Devices: []string{"Turing"}, Precisions: with(half, v1alpha1.FP8, v1alpha1.INT8, v1alpha1.INT4, v1alpha1.NVFP4),
		Makes: fp8, Source: vllmKernels, Looked: "0.32.0",
	},
	{Vendor: "nvidia", Devices: ampereOn, Makes: fp8, Source: vllmKernels, Looked: "0.32.0"},
	{
		Vendor: "amd", Devices: []string{"CDNA2"}, Precisions: with(wide, v1alpha1.INT8, v1alpha1.INT4, v1alpha1.NVFP4),
		Source: vllmROCm, Looked: "0.19.0",
	},
	{Vendor: "amd", Devices: []string{"CDNA3"}, Makes: fp8, Source: vllmROCm, Looked: "0.19.0"},
	{
		Vendor: "amd", Devices: []string{"CDNA4"}, Precisions: with(wide, v1alpha1.FP8, v1alpha1.INT8, v1alpha1.INT4, v1alpha1.MXFP4),
		Makes: fp8, Source: vllmROCm, Looked: "0.19.0",
	},
	{
		Vendor: "amd", Devices: []string{"RDNA3", "RDNA3.5"}, Precisions: with(wide, v1alpha1.INT8, v1alpha1.INT4),
		Source: vllmROCm, Looked: "0.19.0",
	},
	{
		Vendor: "amd", Devices: []string{"RDNA4"}, Precisions: with(wide, v1alpha1.FP8, v1alpha1.INT8, v1alpha1.INT4),
		Makes: fp8, Source: vllmROCm, Looked: "0.19.0",
	},
	{
		Vendor: "intel", Devices: intelGPUs, Precisions: with(wide, v1alpha1.FP8, v1alpha1.INT8, v1alpha1.INT4, v1alpha1.MXFP4),
		Makes: fp8, Source: vllmXPU, Looked: "0.31.0",
	},
	{Vendor: "intel", Devices: gaudis, Precisions: with(wide, v1alpha1.FP8, v1alpha1.INT4), Source: vllmGaudi, Looked: "0.16.0"},
	{
		Vendor: "google", Devices: []string{"v3", "v4", "v5e", "v5p", "v6e", "v7x", "TPU v3", "TPU v4", "TPU v5", "TPU v6e", "TPU7x ("},
		Precisions: with(wide, v1alpha1.FP8, v1alpha1.INT8, v1alpha1.INT4, v1alpha1.MXFP4), Source: vllmTPU, Looked: "0.31.0",
	},
	{
		Vendor: "aws", Devices: []string{"Inferentia2", "Trainium"}, Precisions: with(wide, v1alpha1.FP8, v1alpha1.INT8), Cores: 2,
		Source: vllmNxD, Looked: "0.16",
	},
	{
		Vendor: "aws", Devices: []string{"Trainium2", "Trainium3"}, Precisions: with(wide, v1alpha1.FP8, v1alpha1.INT8, v1alpha1.MXFP4),
		Source: vllmNeuron, Looked: "2.33",
	},
	{
		Vendor: "huawei", Devices: []string{"Ascend 910"}, Precisions: with(wide, v1alpha1.INT8, v1alpha1.INT4),
		Source: vllmAscend, Looked: "0.20.2",
	},
	{Vendor: "huawei", Devices: []string{"Ascend 310P"}, Precisions: with(half, v1alpha1.INT8), Source: ascend310, Looked: "0.23.0"},
	{
		Vendor: "apple", Devices: []string{"Apple Silicon"}, Precisions: with(wide, v1alpha1.INT8, v1alpha1.INT4, v1alpha1.MXFP4),
		Source: vllmMetal, Looked: "0.2.0",
	},
	{
		Vendor: "qualcomm", Devices: []string{"Cloud AI 100"}, Precisions: with(wide, v1alpha1.FP8, v1alpha1.INT8, v1alpha1.INT4),
		Source: vllmQAIC, Looked: "1.21.2",
	},
	{Vendor: "tenstorrent", Precisions: wide, Source: vllmTT},
}

// vllmLacks: the kernels of sparse attention, FlashMLA's and FlashInfer's, are for Hopper and Blackwell; without one vLLM does not start ("No
// valid attention backend found"). That of DeepSeek V4 is the same, and its cache is in FP8 always (issue 50576). Of models with encoder and decoder the registry
// has those of speech, and neither T5 nor BART.
var vllmLacks = []Lack{
	{
		Vendor: "nvidia", Devices: []string{"Volta", "Turing", "Ampere", "Ada"}, Of: withIndexer,
		Source: "https://github.com/vllm-project/vllm/issues/38006",
	},
	{Of: withTextEncoder, Source: "https://github.com/vllm-project/vllm/blob/0002bff0/vllm/model_executor/models/registry.py"},
}

// Architectures that engines support together.
var (
	ampereOn  = []string{"Ampere", "Ada", "Hopper", "Blackwell", "Blackwell Ultra"}
	blackwell = []string{"Blackwell", "Blackwell Ultra"}
	intelGPUs = []string{"Ponte Vecchio", "Alchemist", "Battlemage"}
	gaudis    = []string{"Gaudi2", "Gaudi3"}
)
