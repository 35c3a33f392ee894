package accelerator

import "github.com/rankwright/rankwright/api/v1alpha1"

// architecture is a generation of processors.
type architecture struct {
	family v1alpha1.DeviceFamily
	// bf16Percent is the rate of BF16 in percent of the rate of FP16.
	bf16Percent int64
}

var (
	gpu  = architecture{v1alpha1.FamilyGPU, 100}
	npu  = architecture{v1alpha1.FamilyNPU, 100}
	asic = architecture{v1alpha1.FamilyASIC, 100}
	// withoutBF16 are GPUs that do not compute BF16: NVIDIA's before Ampere, AMD's GCN and RDNA before the third
	// generation.
	withoutBF16 = architecture{v1alpha1.FamilyGPU, 0}
)

// architectures is the vocabulary: every word for an architecture in the catalogue and in inventories, whoever reports the
// device, but for the generations of TPUs (v5p) and processors that are told by the name of their chip. A row of the
// catalogue with another word is refused. That CDNA1 computes BF16 at half the rate is AMD's CDNA whitepaper.
var architectures = map[string]architecture{
	"Maxwell": withoutBF16, "Pascal": withoutBF16, "Volta": withoutBF16, "Turing": withoutBF16, "Ampere": gpu, "Ada": gpu, "Hopper": gpu,
	"Blackwell": gpu, "Blackwell Ultra": gpu,
	"GCN4": withoutBF16, "GCN5": withoutBF16, "GCN5.1": withoutBF16, "CDNA1": {v1alpha1.FamilyGPU, 50}, "CDNA2": gpu, "CDNA3": gpu, "CDNA4": gpu,
	"RDNA1": withoutBF16, "RDNA2": withoutBF16, "RDNA3": gpu, "RDNA3.5": gpu, "RDNA4": gpu,
	"Ponte Vecchio": gpu, "Alchemist": gpu, "Battlemage": gpu, "Apple Silicon": gpu,
	"TPU": {v1alpha1.FamilyTPU, 100},
	"NPU": npu, "XDNA1": npu, "XDNA2": npu, "Ascend": npu, "Warboy": npu, "RNGD": npu,
	"Gaudi2": asic, "Gaudi3": asic, "Inferentia": asic, "Inferentia2": asic, "Trainium": asic, "Trainium2": asic, "Trainium3": asic,
	"Cloud AI 100": asic, "WSE-2": asic, "WSE-3": asic, "Mk1": asic, "Mk2": asic, "Bow": asic, "LPU v1": asic, "Wormhole": asic,
	"Blackhole": asic,
}

// otherWords are what drivers call architectures of the vocabulary: nvidia-smi's word for Ada, and the targets that AMD's
// compilers know GPUs by (LLVM, User Guide for AMDGPU Backend; AMD's documentation of ROCm's supported GPUs).
var otherWords = map[string]string{
	"Ada Lovelace": "Ada",
	"gfx803":       "GCN4", "gfx900": "GCN5", "gfx906": "GCN5.1", "gfx908": "CDNA1", "gfx90a": "CDNA2",
	"gfx940": "CDNA3", "gfx941": "CDNA3", "gfx942": "CDNA3", "gfx950": "CDNA4",
	"gfx1010": "RDNA1", "gfx1011": "RDNA1", "gfx1012": "RDNA1",
	"gfx1030": "RDNA2", "gfx1031": "RDNA2", "gfx1032": "RDNA2", "gfx1033": "RDNA2", "gfx1034": "RDNA2", "gfx1035": "RDNA2", "gfx1036": "RDNA2",
	"gfx1100": "RDNA3", "gfx1101": "RDNA3", "gfx1102": "RDNA3", "gfx1103": "RDNA3",
	"gfx1150": "RDNA3.5", "gfx1151": "RDNA3.5", "gfx1152": "RDNA3.5", "gfx1153": "RDNA3.5",
	"gfx1200": "RDNA4", "gfx1201": "RDNA4",
}

// Architecture returns the vocabulary's word for a driver's name of an architecture; a name that is not known is returned
// as it is.
func Architecture(reported string) string {
	if word, ok := otherWords[reported]; ok {
		return word
	}
	return reported
}
