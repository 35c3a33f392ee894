package engine

// Where frameworks are documented for devices.
const (
	megatronInstall = "https://docs.nvidia.com/megatron-core/developer-guide/0.19.0/get-started/install.html"
	megatronROCm    = "https://rocm.docs.amd.com/en/docs-7.1.0/genindex.html"
	mindSpeed       = "https://www.hiascend.com/document/detail/en/MindSpeed/2610/index/index.html"
	deepSpeedReadme = "https://github.com/deepspeedai/DeepSpeed/blob/master/README.md"
	torchXPU        = "https://docs.pytorch.org/docs/stable/notes/get_start_xpu.html"
	torchStart      = "https://pytorch.org/get-started/locally/"
	torchXLA        = "https://docs.pytorch.org/xla/release/r2.8"
	torchNeuron     = "https://awsdocs-neuron.readthedocs-hosted.com/en/latest/frameworks/torch/torch-setup.html"
	torchGaudi      = "https://docs.habana.ai/en/latest/"
	torchNPU        = "https://www.hiascend.com/document/detail/zh/Pytorch/700/ptmoddevg/trainingmigrguide/PT_LMTMOG_0054.html"
	torchIPU        = "https://github.com/graphcore/poptorch"
	torchCerebras   = "https://docs.cerebras.net/"
	ttXLA           = "https://docs.tenstorrent.com/tt-xla/"
	jaxPlatforms    = "https://docs.jax.dev/en/latest/installation.html"
	jaxNeuron       = "https://awsdocs-neuron.readthedocs-hosted.com/en/v2.33.0/setup/jax/index.html"
)

// megatronSupport: AMD trains with its Primus and ROCm's Megatron-LM, Huawei with MindSpeed, which adapts it.
var megatronSupport = []Support{
	{Vendor: "nvidia", Source: megatronInstall, Looked: "0.19.0"},
	{Vendor: "amd", Devices: []string{"CDNA2", "CDNA3", "CDNA4"}, Source: megatronROCm, Looked: "7.1.0"},
	{Vendor: "huawei", Devices: []string{"Ascend 910"}, Source: mindSpeed, Looked: "2610"},
}

var deepSpeedSupport = []Support{
	{Vendor: "nvidia", Source: deepSpeedReadme, Looked: "0.17"},
	{Vendor: "amd", Devices: instincts, Source: deepSpeedReadme, Looked: "0.17"},
	{Vendor: "intel", Devices: append([]string{"Ponte Vecchio"}, gaudis...), Source: deepSpeedReadme, Looked: "0.17"},
	{Vendor: "huawei", Devices: []string{"Ascend 910"}, Source: deepSpeedReadme, Looked: "0.17"},
}

// instincts are the architectures of AMD's GPUs for data centers.
var instincts = []string{"GCN5.1", "CDNA1", "CDNA2", "CDNA3", "CDNA4"}

// torchSupport leaves kernels to the program.
var torchSupport = []Support{
	{Vendor: "nvidia", Source: torchStart},
	{Vendor: "amd", Devices: append(instincts, "GCN4", "GCN5", "RDNA1", "RDNA2", "RDNA3", "RDNA3.5", "RDNA4"), Source: torchStart},
	{Vendor: "intel", Devices: intelGPUs, Source: torchXPU, Looked: "2.8"},
	{Vendor: "intel", Devices: gaudis, Source: torchGaudi, Looked: "1.21"},
	{Vendor: "google", Source: torchXLA, Looked: "2.8"},
	{Vendor: "aws", Source: torchNeuron},
	{Vendor: "huawei", Source: torchNPU, Looked: "7.0.0"},
	{Vendor: "apple", Source: torchStart},
	{Vendor: "tenstorrent", Source: ttXLA, Looked: "1.3.0"},
	{Vendor: "graphcore", Source: torchIPU, Looked: "3.4"},
	{Vendor: "cerebras", Source: torchCerebras},
}

// jaxSupport leaves kernels to the program.
var jaxSupport = []Support{
	{Vendor: "nvidia", Source: jaxPlatforms, Looked: "0.10"},
	{Vendor: "amd", Devices: append(instincts, "RDNA3", "RDNA3.5", "RDNA4"), Source: jaxPlatforms, Looked: "0.10"},
	{Vendor: "intel", Devices: intelGPUs, Source: jaxPlatforms, Looked: "0.10"},
	{Vendor: "google", Source: jaxPlatforms, Looked: "0.10"},
	{Vendor: "apple", Source: jaxPlatforms, Looked: "0.10"},
	{Vendor: "aws", Devices: []string{"Inferentia2", "Trainium", "Trainium2", "Trainium3"}, Source: jaxNeuron, Looked: "0.10"},
	{Vendor: "tenstorrent", Source: ttXLA, Looked: "1.3.0"},
}
