package model

import "github.com/rankwright/rankwright/api/v1alpha1"

// KVBytesPerToken is the cache of one token over all layers, keys and values, as if every layer looked at the whole
// context; multi-head latent attention caches the latent and the rotary part once for all heads.
func (m *Model) KVBytesPerToken(p v1alpha1.Precision) int64 {
	return mul(int64(m.Architecture.Layers), stored(kvWidth(&m.Architecture, 1), p))
}

// LayerKVBytes is the cache of one sequence of some tokens in a layer, capped by the window where the layer has one; 0
// where there is no such layer.
func (m *Model) LayerKVBytes(layer int, tokens int64, p v1alpha1.Precision) int64 {
	return m.LayerKVBytesPerRank(layer, tokens, 1, p)
}

// LayerKVBytesPerRank is what each of the tensor ranks stores of it. Heads are shared out, and replicated where there are
// fewer than ranks; a latent is on every rank.
func (m *Model) LayerKVBytesPerRank(layer int, tokens int64, tensor int, p v1alpha1.Precision) int64 {
	a := &m.Architecture
	if layer < 0 || layer >= int(a.Layers) {
		return 0
	}
	if w := window(a, layer); w > 0 {
		tokens = min(tokens, w)
	}
	return stored(mul(tokens, kvWidth(a, tensor)), p)
}

// kvWidth is the number of values that a rank caches for a token in a layer.
func kvWidth(a *v1alpha1.Architecture, tensor int) int64 {
	if mla := a.Attention.MLA; mla != nil {
		return int64(mla.KVLoraRank) + int64(mla.QKRopeHeadDim)
	}
	return mul(2*ceil(int64(a.Attention.KVHeads), int64(tensor)), int64(a.Attention.HeadDim))
}
