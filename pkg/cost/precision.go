package cost

import (
	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/model"
)

// Precisions are the formats that a model's parts are stored and computed in.
type Precisions struct {
	// Linear is the format of attention projections and dense feed-forward blocks, Experts of routed experts, Cache of
	// keys and values, Head of the output head, empty for 16 bits.
	Linear, Experts, Cache, Head v1alpha1.Precision
}

// Stored returns the precisions of a checkpoint published in one format. Of a mixture of experts, MXFP4 and INT4
// checkpoints (GPT-OSS, Kimi K2) store the routed experts in it, and all else in 16 bits where they do not say otherwise; NVFP4 ones with
// latent attention keep what is not an expert in 8. A GGUF file says what it keeps. A cache of "" is what published
// measurements mean that do not name it: FP8 where the weights are FP8 or NVFP4, else 16 bits.
func Stored(m *model.Model, weights, cache v1alpha1.Precision) Precisions {
	p := Precisions{Linear: weights, Experts: weights, Cache: cache}
	moe := m.Architecture.MoE != nil
	attention, head, known := m.Kept(weights)
	p.Head = head
	switch {
	case moe && known:
		p.Linear = attention
	case moe && (weights == v1alpha1.MXFP4 || weights == v1alpha1.INT4):
		p.Linear = v1alpha1.BF16
	case moe && weights == v1alpha1.NVFP4 && m.Architecture.Attention.MLA != nil:
		p.Linear = v1alpha1.FP8
	}
	if cache == "" {
		p.Cache = v1alpha1.BF16
		if weights == v1alpha1.FP8 || weights == v1alpha1.NVFP4 {
			p.Cache = v1alpha1.FP8
		}
	}
	return p
}

// bytesPer returns the bytes of a weight or a cached value, block scales included.
func bytesPer(p v1alpha1.Precision) float64 {
	num, den := model.BytesPer(p)
	return float64(num) / float64(den)
}
