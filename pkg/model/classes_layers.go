package model

import (
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Words of files for layers with a cache; sparse attention keeps what full attention keeps.
const fullAttention = "full_attention"

// isFull says whether an entry of a list of layers stands for attention to the whole context: by name, or 1 in attn_type_list.
func isFull(kind any) bool {
	word, _ := kind.(string)
	return word == fullAttention || word == "attention" || strings.Contains(word, "sparse")
}

// letters writes a list of kinds of layers with the API's letters, one for each of the model's layers.
func letters(list []any, a *v1alpha1.Architecture, letter func(any) byte) string {
	var b strings.Builder
	for _, kind := range list[:min(len(list), int(max(0, a.Layers)))] {
		b.WriteByte(letter(kind))
	}
	return b.String()
}

// choose returns a function that gives one letter where a condition holds, and else another.
func choose(yes, no byte, is func(any) bool) func(any) byte {
	return func(kind any) byte {
		if is(kind) {
			return yes
		}
		return no
	}
}

// briefest returns the shortest beginning of some letters that gives all of them when it is repeated.
func briefest(letters string) string {
	for n := 1; n < len(letters); n++ {
		if strings.HasPrefix(letters, letters[n:]) {
			return letters[:n]
		}
	}
	return letters
}

// setMixers says what mixes tokens in each layer, in the fields of a period where there is one and the last layer of it is full.
func setMixers(a *v1alpha1.Architecture, letters string) {
	period, a2 := briefest(letters), a.Attention
	first := strings.IndexByte(period, fullMixer) + 1
	switch {
	case letters == "":
	case first == len(period) && a.Recurrent != nil && strings.Count(period, "R") == len(period)-1:
		a.Recurrent.AttentionEvery = int32(len(period))
	case first == len(period) && a2.SlidingWindow > 0 && a.Recurrent == nil && len(period) > 1:
		a.Attention.FullAttentionEvery = int32(len(period))
	case period == "F":
		a.Attention.SlidingWindow, a.Attention.FullAttentionEvery, a.Recurrent = 0, 0, nil
	case period == "W":
		a.Attention.FullAttentionEvery = 0
	default:
		a.Mixers, a.Attention.FullAttentionEvery = period, 0
		if a.Recurrent != nil {
			a.Recurrent.AttentionEvery = 0
		}
	}
}

// setBlocks says which layers are mixtures, in the fields of the mixture where all are from some layer on.
func setBlocks(a *v1alpha1.Architecture, letters string) {
	dense := strings.TrimLeft(letters, "D")
	if a.MoE == nil || letters == "" {
		return
	}
	a.MoE.FirstLayer, a.MoE.Interval = 0, 0
	switch {
	case dense == "": // no layer is a mixture
		a.MoE = nil
	case strings.Count(dense, "M") == len(dense):
		a.MoE.FirstLayer = int32(len(letters) - len(dense))
	default:
		a.Blocks = briefest(letters)
	}
}

// sparseLayers reads which layers are mixtures from a list with a word or number for each layer.
func sparseLayers(f *fields, a *v1alpha1.Architecture) {
	for _, field := range []string{"mlp_layer_types", "moe_layer_freq"} {
		if list := f.list(field); len(list) > 0 {
			setBlocks(a, letters(list, a, choose(mixtureBlock, denseBlock, func(kind any) bool {
				n, _ := whole(kind)
				return kind == "sparse" || n == 1
			})))
			return
		}
	}
}

// windowedIfSaid reads windows that the file lists, or gives as a pattern of letters (L a window, G the whole context).
func windowedIfSaid(f *fields, a *v1alpha1.Architecture) {
	a.Attention.SlidingWindow = f.optional(0, 0, maxTokens, "sliding_window")
	if a.Attention.SlidingWindow == 0 {
		return
	}
	if pattern := f.text("sliding_window_pattern"); pattern != "" {
		setMixers(a, strings.NewReplacer("L", "W", "G", "F").Replace(pattern))
		return
	}
	layerTypes(f, a)
}

// windowedHeadsPerLayer reads heads that layers with a window have more or fewer of.
func windowedHeadsPerLayer(f *fields, a *v1alpha1.Architecture) {
	for layer, v := range f.list("num_attention_heads_per_layer") {
		n, ok := whole(v)
		if !ok || n < 1 || n > maxHeads {
			f.fail("num_attention_heads_per_layer has %s: set it to whole numbers from 1 to %d", shown(v), maxHeads)
			return
		}
		if layer < int(a.Layers) && mixer(a, layer) == windowMixer && n != int64(a.Attention.Heads) {
			windowed(a).Heads = int32(n)
		}
	}
}

// windowed returns the heads of layers with a window, which are at first those of the others.
func windowed(a *v1alpha1.Architecture) *v1alpha1.WindowedHeads {
	if a.Attention.Windowed == nil {
		at := &a.Attention
		at.Windowed = &v1alpha1.WindowedHeads{Heads: at.Heads, KVHeads: at.KVHeads, HeadDim: at.HeadDim, ValueHeadDim: at.ValueHeadDim}
	}
	return a.Attention.Windowed
}
