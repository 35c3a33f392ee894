package model

import (
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// LayerKind is what a layer keeps of a sequence.
type LayerKind string

// Kinds of layer.
const (
	// FullLayer caches keys and values of the whole context.
	FullLayer LayerKind = "Full"
	// WindowLayer caches keys and values of a window that slides.
	WindowLayer LayerKind = "Window"
	// ChunkLayer caches keys and values of the current chunk of fixed size.
	ChunkLayer LayerKind = "Chunk"
	// LatentLayer caches one latent a token for all heads.
	LatentLayer LayerKind = "Latent"
	// CompressedLayer caches a window and a vector for each run of earlier tokens.
	CompressedLayer LayerKind = "Compressed"
	// RecurrentLayer keeps a state of fixed size and no cache.
	RecurrentLayer LayerKind = "Recurrent"
)

// LayerKind returns what a layer keeps of a sequence; empty where there is no such layer.
func (m *Model) LayerKind(layer int) LayerKind {
	a := &m.Architecture
	switch {
	case layer < 0 || layer >= int(a.Layers):
		return ""
	case isRecurrent(a, layer):
		return RecurrentLayer
	case a.Attention.MLA != nil:
		return LatentLayer
	case ratio(a, layer) > 0:
		return CompressedLayer
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

// window returns how many tokens a layer looks back; 0 where it looks at the whole context.
func window(a *v1alpha1.Architecture, layer int) int64 {
	every := int(a.Attention.FullAttentionEvery)
	if every > 0 && (layer+1)%every == 0 {
		return 0
	}
	return int64(a.Attention.SlidingWindow)
}

// ratio returns how many tokens each vector that a layer caches stands for; 0 where the layer does not compress.
func ratio(a *v1alpha1.Architecture, layer int) int64 {
	c := a.Attention.Compressed
	if c == nil || layer < int(c.FirstLayer) || c.FirstLayer < 0 || len(c.Ratios) == 0 {
		return 0
	}
	return int64(c.Ratios[(layer-int(c.FirstLayer))%len(c.Ratios)])
}

// form identifies layers with the same tensors, storage and cache: in one precision they have equal memory.
type form struct {
	mixture       bool
	ratio, window int64 // the window of a recurrent layer is -1
	stored        int
}

// form returns the form of a layer in a precision.
func (m *Model) form(layer int, p v1alpha1.Precision) form {
	a := &m.Architecture
	f := form{mixture: isMixture(a, layer), ratio: ratio(a, layer), window: window(a, layer)}
	if isRecurrent(a, layer) {
		f.ratio, f.window = 0, -1
	}
	if published := m.published(p); published != nil {
		f.stored = published.like(layer)
	}
	return f
}

// uniform says that all layers have one form, as in most models.
func (m *Model) uniform(p v1alpha1.Precision) bool {
	a := &m.Architecture
	return a.Layers > 0 && (a.MoE == nil || mixtureLayers(a) == int(a.Layers)) && a.Recurrent == nil && a.Attention.Compressed == nil &&
		a.Attention.FullAttentionEvery <= 0 && m.published(p) == nil
}

// LayerRun is layers First to End-1, which have the same form in a precision. Forms are numbered from 0 in the order of
// their first layers.
type LayerRun struct{ Form, First, End int }

// LayerRuns returns the longest runs of layers with one form.
func (m *Model) LayerRuns(p v1alpha1.Precision) []LayerRun {
	layers := int(min(m.Architecture.Layers, maxLayers))
	if m.uniform(p) {
		return []LayerRun{{End: layers}}
	}
	var runs []LayerRun
	forms := make([]form, 0, 16)
	for layer := range layers {
		f := m.form(layer, p)
		if last := len(runs) - 1; last >= 0 && forms[runs[last].Form] == f {
			runs[last].End++
			continue
		}
		at := slices.Index(forms, f)
		if at < 0 {
			at, forms = len(forms), append(forms, f)
		}
		runs = append(runs, LayerRun{Form: at, First: layer, End: layer + 1})
	}
	return runs
}
