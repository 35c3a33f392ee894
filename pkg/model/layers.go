package model

import "github.com/rankwright/rankwright/api/v1alpha1"

// LayerKind is what a layer keeps of a sequence.
type LayerKind string

// Kinds of layer.
const (
	// FullLayer caches keys and values of the whole context.
	FullLayer LayerKind = "Full"
	// WindowLayer caches those of a window that slides.
	WindowLayer LayerKind = "Window"
	// ChunkLayer caches those of the current chunk of fixed size.
	ChunkLayer LayerKind = "Chunk"
	// LatentLayer caches one latent a token for all heads.
	LatentLayer LayerKind = "Latent"
	// RecurrentLayer keeps a state of fixed size and no cache.
	RecurrentLayer LayerKind = "Recurrent"
)

// LayerKind is what a layer keeps of a sequence; empty where there is no such layer.
func (m *Model) LayerKind(layer int) LayerKind {
	a := &m.Architecture
	switch {
	case layer < 0 || layer >= int(a.Layers):
		return ""
	case isRecurrent(a, layer):
		return RecurrentLayer
	case a.Attention.MLA != nil:
		return LatentLayer
	case window(a, layer) == 0:
		return FullLayer
	case a.Attention.Chunked:
		return ChunkLayer
	default:
		return WindowLayer
	}
}

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

func interval(moe *v1alpha1.MoE) int { return max(1, int(moe.Interval)) }

// isRecurrent says whether a layer keeps a state instead of a cache.
func isRecurrent(a *v1alpha1.Architecture, layer int) bool {
	if a.Recurrent == nil {
		return false
	}
	every := int(a.Recurrent.AttentionEvery)
	return every <= 0 || (layer+1)%every != 0
}

// window is how many tokens a layer looks back; 0 where it looks at the whole context.
func window(a *v1alpha1.Architecture, layer int) int64 {
	every := int(a.Attention.FullAttentionEvery)
	if every > 0 && (layer+1)%every == 0 {
		return 0
	}
	return int64(a.Attention.SlidingWindow)
}

// alike counts the layers that have the same tensors as each other, and gives one of them.
type alike struct{ count, layer int }

// kinds groups the layers by what their tensors depend on: mixture or dense, recurrent or attention.
func kinds(a *v1alpha1.Architecture) [4]alike {
	var groups [4]alike
	for layer := range int(min(a.Layers, maxLayers)) {
		group := 0
		if isMixture(a, layer) {
			group = 1
		}
		if isRecurrent(a, layer) {
			group += 2
		}
		groups[group] = alike{groups[group].count + 1, layer}
	}
	return groups
}
