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
	// BareLayer has a feed-forward block alone and keeps nothing.
	BareLayer LayerKind = "Bare"
)

// LayerKind returns what a layer keeps of a sequence; empty where there is no such layer.
func (m *Model) LayerKind(layer int) LayerKind {
	a := &m.Architecture
	switch {
	case layer < 0 || layer >= int(a.Layers):
		return ""
	case !attends(a, layer):
		if recurs(a, layer) {
			return RecurrentLayer
		}
		return BareLayer
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
	if a.MoE == nil {
		return false
	}
	if n := len(a.Blocks); n > 0 {
		return a.Blocks[max(0, layer)%n] == mixtureBlock
	}
	if layer < int(a.MoE.FirstLayer) {
		return false
	}
	return (layer-int(a.MoE.FirstLayer))%interval(a.MoE) == 0
}

// mixtureLayers counts the layers that are mixtures of experts.
func mixtureLayers(a *v1alpha1.Architecture) int {
	if a.MoE == nil || a.MoE.FirstLayer >= a.Layers || a.MoE.FirstLayer < 0 {
		return 0
	}
	if a.Blocks != "" {
		return countLayers(a, func(layer int) bool { return isMixture(a, layer) })
	}
	every := interval(a.MoE)
	return (int(a.Layers-a.MoE.FirstLayer) + every - 1) / every
}

func interval(moe *v1alpha1.MoE) int { return max(1, int(moe.Interval)) }

func countLayers(a *v1alpha1.Architecture, is func(layer int) bool) int {
	n := 0
	for layer := range int(min(a.Layers, maxLayers)) {
		if is(layer) {
			n++
		}
	}
	return n
}

// Letters of the API's mixers and blocks.
const (
	fullMixer, windowMixer, recurrentMixer, bothMixer, noMixer = 'F', 'W', 'R', 'B', 'X'
	denseBlock, mixtureBlock, noBlock                          = 'D', 'M', 'X'
)

// mixer returns the letter of what mixes the tokens in a layer.
func mixer(a *v1alpha1.Architecture, layer int) byte {
	if n := len(a.Mixers); n > 0 {
		return a.Mixers[max(0, layer)%n]
	}
	if r := a.Recurrent; r != nil {
		if every := int(r.AttentionEvery); every <= 0 || (layer+1)%every != 0 {
			return recurrentMixer
		}
	}
	every := int(a.Attention.FullAttentionEvery)
	if a.Attention.SlidingWindow <= 0 || every > 0 && (layer+1)%every == 0 {
		return fullMixer
	}
	return windowMixer
}

// recurs says whether a layer keeps a state of fixed size.
func recurs(a *v1alpha1.Architecture, layer int) bool {
	m := mixer(a, layer)
	return a.Recurrent != nil && (m == recurrentMixer || m == bothMixer)
}

// attends says whether a layer has attention.
func attends(a *v1alpha1.Architecture, layer int) bool {
	m := mixer(a, layer)
	return m == fullMixer || m == windowMixer || m == bothMixer
}

// Recurs says whether a layer keeps a state of fixed size, Attends whether it has attention; some have both, some neither.
func (m *Model) Recurs(layer int) bool { return recurs(&m.Architecture, layer) }

// Attends says whether a layer has attention.
func (m *Model) Attends(layer int) bool { return attends(&m.Architecture, layer) }

// window returns how many tokens a layer looks back; 0 where it looks at the whole context.
func window(a *v1alpha1.Architecture, layer int) int64 {
	if mixer(a, layer) != windowMixer {
		return 0
	}
	return int64(a.Attention.SlidingWindow)
}

// blockless says whether a layer has no feed-forward block.
func blockless(a *v1alpha1.Architecture, layer int) bool {
	n := len(a.Blocks)
	return n > 0 && a.Blocks[max(0, layer)%n] == noBlock
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
	mixture, blockless bool
	mixer              byte
	ratio              int64
	stored             int
}

// form returns the form of a layer in a precision.
func (m *Model) form(layer int, p v1alpha1.Precision) form {
	a := &m.Architecture
	f := form{mixture: isMixture(a, layer), blockless: blockless(a, layer), mixer: mixer(a, layer), ratio: ratio(a, layer)}
	if published := m.published(p); published != nil {
		f.stored = published.like(layer)
	}
	return f
}

// uniform says that all layers have one form, as in most models.
func (m *Model) uniform(p v1alpha1.Precision) bool {
	a := &m.Architecture
	return a.Layers > 0 && a.Mixers == "" && a.Blocks == "" && (a.MoE == nil || mixtureLayers(a) == int(a.Layers)) && a.Recurrent == nil && a.Attention.Compressed == nil &&
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
