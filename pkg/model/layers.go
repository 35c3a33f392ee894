package model

import "github.com/rankwright/rankwright/api/v1alpha1"

// isMixture says whether a layer is a mixture of experts.
func isMixture(a *v1alpha1.Architecture, layer int) bool {
	if a.MoE == nil || layer < int(a.MoE.FirstLayer) {
		return false
	}
	return (layer-int(a.MoE.FirstLayer))%interval(a.MoE) == 0
}

// mixtureLayers counts the layers that are mixtures of experts.
func mixtureLayers(a *v1alpha1.Architecture) int {
	if a.MoE == nil || a.MoE.FirstLayer >= a.Layers || a.MoE.FirstLayer < 0 {
		return 0
	}
	every := interval(a.MoE)
	return (int(a.Layers-a.MoE.FirstLayer) + every - 1) / every
}

// firstDense is the number of a layer that is not a mixture, where there is one.
func firstDense(a *v1alpha1.Architecture) int {
	if isMixture(a, 0) {
		return 1
	}
	return 0
}

func interval(moe *v1alpha1.MoE) int { return max(1, int(moe.Interval)) }

// window is how many tokens a layer looks back; 0 where it looks at the whole context.
func window(a *v1alpha1.Architecture, layer int) int64 {
	every := int(a.Attention.FullAttentionEvery)
	if every > 0 && (layer+1)%every == 0 {
		return 0
	}
	return int64(a.Attention.SlidingWindow)
}
