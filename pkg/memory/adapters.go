package memory

// loraRank is the rank that adapters are counted with: the upper of the usual 8 and 16. prefixTokens is the number of
// trained positions of prefix tuning, the default of PEFT's examples.
const (
	loraRank     = 16
	prefixTokens = 20
)

// loraParameters counts the adapters of a layer on a device: rank x (inputs + outputs) of each projection of attention,
// and of the dense block or the shared expert. Routed experts and routers have none. Adapters are counted whole on each
// tensor rank, of which half would be shared.
func loraParameters(w weights, layer int) int64 {
	a := &w.model.Architecture
	hidden, head := int64(a.HiddenSize), int64(a.Attention.HeadDim)
	query, key := int64(a.Attention.Heads)*head, int64(a.Attention.KVHeads)*head
	sum := 2*(hidden+query) + 2*(hidden+key)
	if mla := a.Attention.MLA; mla != nil {
		heads, rank := int64(a.Attention.Heads), int64(mla.QLoraRank)
		width := heads * (int64(mla.QKNopeHeadDim) + int64(mla.QKRopeHeadDim))
		latent := int64(mla.KVLoraRank)
		values := heads * int64(mla.VHeadDim)
		sum = hidden + latent + int64(mla.QKRopeHeadDim) + latent + heads*int64(mla.QKNopeHeadDim) + values + values + hidden
		if rank > 0 {
			sum += hidden + rank + rank + width
		} else {
			sum += hidden + width
		}
	}
	block := int64(a.MLP.IntermediateSize)
	if w.experts(layer) > 0 {
		block = int64(a.MoE.SharedIntermediateSize)
	}
	if block > 0 {
		projections := int64(3)
		if a.MLP.Ungated {
			projections = 2
		}
		sum += projections * (hidden + block)
	}
	return times(loraRank, sum)
}

// prefixParameters counts the keys and values of the trained positions in a layer on a device.
func prefixParameters(w weights, layer int) int64 {
	return times(prefixTokens, w.model.LayerKVBytesPerRank(layer, 1, w.layout.Tensor, "BF16")) / 2
}
