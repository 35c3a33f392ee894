package engine

import "github.com/rankwright/rankwright/api/v1alpha1"

// Where TensorRT-LLM's support is documented.
const (
	trtHardware = "https://nvidia.github.io/TensorRT-LLM/supported-hardware.html"
	trtKernels  = "https://nvidia.github.io/TensorRT-LLM/features/quantization.html"
	trtGPTOSS   = "https://nvidia.github.io/TensorRT-LLM/deployment-guide/deployment-guide-for-gpt-oss-on-trtllm.html"
	trtMatrix   = "https://nvidia.github.io/TensorRT-LLM/0.18.2/reference/support-matrix.html"
)

// trtSupport: four bits are AWQ and GPTQ up to Hopper, NVFP4 and MXFP4 from Blackwell on; Hopper's Triton kernels read the experts of
// GPT-OSS in MXFP4. INT8 is of its compiled engines.
var trtSupport = []Support{
	{Vendor: "nvidia", Devices: []string{"Ampere"}, Precisions: with(wide, v1alpha1.INT4), Source: trtKernels, Looked: "1.3.0"},
	{
		Vendor: "nvidia", Devices: []string{"Ada", "Hopper"}, Precisions: with(wide, v1alpha1.FP8, v1alpha1.INT4),
		Source: trtKernels, Looked: "1.3.0",
	},
	{Vendor: "nvidia", Devices: []string{"Hopper"}, Precisions: []v1alpha1.Precision{v1alpha1.MXFP4}, Source: trtGPTOSS, Looked: "1.3.0"},
	{
		Vendor: "nvidia", Devices: []string{"Ampere", "Ada", "Hopper"}, Precisions: []v1alpha1.Precision{v1alpha1.INT8},
		Source: trtMatrix, Looked: "0.18.2",
	},
	{
		Vendor: "nvidia", Devices: blackwell, Precisions: with(wide, v1alpha1.FP8, v1alpha1.NVFP4, v1alpha1.MXFP4),
		Source: trtKernels, Looked: "1.3.0",
	},
}
