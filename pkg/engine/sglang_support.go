package engine

import "github.com/rankwright/rankwright/api/v1alpha1"

// Where SGLang's support is documented.
const (
	sglangHardware = "https://docs.sglang.io/docs/hardware-platforms/overview.md"
	sglangKernels  = "https://docs.sglang.io/docs/advanced_features/quantization"
	sglangInstall  = "https://github.com/sgl-project/sglang/blob/main/docs/get_started/install.md"
	sglangTPU      = "https://docs.sglang.io/docs/hardware-platforms/tpu.md"
	sglangXPU      = "https://github.com/sgl-project/sglang/blob/main/docs/platforms/xpu.md"
)

// sglangSupport: its attention kernels (FlashInfer) take compute capability 7.5 and more. NVFP4 is for Blackwell, and by Petit for CDNA2 and
// CDNA3. Its JAX backend runs on TPU v6e and v7, without quantization.
var sglangSupport = []Support{
	{
		Vendor: "nvidia", Devices: []string{"Turing"}, Precisions: with(half, v1alpha1.INT8, v1alpha1.INT4),
		Source: sglangInstall, Looked: "0.5.5",
	},
	{
		Vendor: "nvidia", Devices: ampereOn, Precisions: with(wide, v1alpha1.FP8, v1alpha1.INT8, v1alpha1.INT4, v1alpha1.MXFP4),
		Makes: fp8, Source: sglangKernels, Looked: "0.5.10",
	},
	{Vendor: "nvidia", Devices: blackwell, Precisions: []v1alpha1.Precision{v1alpha1.NVFP4}, Source: sglangKernels, Looked: "0.5.10"},
	{
		Vendor: "amd", Devices: []string{"CDNA2"}, Precisions: with(wide, v1alpha1.INT8, v1alpha1.INT4, v1alpha1.NVFP4),
		Source: sglangKernels, Looked: "0.5.10",
	},
	{Vendor: "amd", Devices: []string{"CDNA3"}, Makes: fp8, Source: sglangKernels, Looked: "0.5.10"},
	{
		Vendor: "amd", Devices: []string{"CDNA4"}, Precisions: with(wide, v1alpha1.FP8, v1alpha1.INT8, v1alpha1.INT4, v1alpha1.MXFP4),
		Makes: fp8, Source: sglangKernels, Looked: "0.5.10",
	},
	{
		Vendor: "huawei", Devices: []string{"Ascend 910"}, Precisions: with(wide, v1alpha1.INT8, v1alpha1.INT4),
		Source: sglangKernels, Looked: "0.5.10",
	},
	{Vendor: "intel", Devices: []string{"Battlemage"}, Precisions: wide, Source: sglangXPU, Looked: "0.5.5"},
	{Vendor: "google", Devices: []string{"v6e", "v7x", "TPU v6e", "TPU7x ("}, Precisions: wide, Source: sglangTPU, Looked: "0.5.10"},
}
