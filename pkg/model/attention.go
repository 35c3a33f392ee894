package model

import "github.com/rankwright/rankwright/api/v1alpha1"

// heads are the heads of a layer with attention, and their widths in values.
type heads struct {
	query, keyValue int64
	width, value    int64
	// noValue says that there is no value projection.
	noValue bool
}

// headsOf returns the heads of a layer.
func headsOf(a *v1alpha1.Architecture, layer int) heads {
	at := &a.Attention
	h := heads{int64(at.Heads), int64(at.KVHeads), int64(at.HeadDim), int64(at.ValueHeadDim), at.NoValue}
	if w := at.Windowed; w != nil && mixer(a, layer) == windowMixer {
		h = heads{int64(w.Heads), int64(w.KVHeads), int64(w.HeadDim), int64(w.ValueHeadDim), false}
	}
	if h.value == 0 {
		h.value = h.width
	}
	return h
}

// cached returns the number of values that a rank caches for a token.
func (h *heads) cached(tensor int) int64 {
	return mul(ceil(h.keyValue, int64(tensor)), h.width+h.value)
}

// headAttention lists attention with keys and values for each head or group of heads.
func headAttention(list []tensor, a *v1alpha1.Architecture, h heads) []tensor {
	hidden, gated := int64(a.HiddenSize), h.width
	if a.Attention.OutputGate {
		gated += h.value
	}
	list = append(list,
		tensor{query, 1, mul(h.query, gated), hidden, byOutput, gated},
		tensor{key, 1, mul(h.keyValue, h.width), hidden, byOutput, h.width},
		tensor{output, 1, hidden, mul(h.query, h.value), byInput, h.value})
	if !h.noValue {
		list = append(list, tensor{value, 1, mul(h.keyValue, h.value), hidden, byOutput, h.value})
	}
	if a.Attention.QKVBias {
		list = append(list, headVector(h.query, gated), headVector(h.keyValue, h.value))
		if !a.Attention.NoKeyBias {
			list = append(list, headVector(h.keyValue, h.width))
		}
	}
	if a.Attention.OutputBias {
		list = append(list, vector(hidden))
	}
	if a.Attention.Sinks {
		list = append(list, headVector(h.query, 1))
	}
	switch {
	case !a.Attention.QKNorm:
		return list
	case a.Attention.QKNormPerHead:
		return append(list, headVector(h.query, h.width), headVector(h.keyValue, h.width))
	default:
		return append(list, vector(2*h.width))
	}
}

// latentAttention lists multi-head latent attention: the down-projections and their norms are on every rank, since every
// head needs the whole latent.
func latentAttention(list []tensor, a *v1alpha1.Architecture, mla *v1alpha1.MLA) []tensor {
	hidden, heads := int64(a.HiddenSize), int64(a.Attention.Heads)
	width := int64(mla.QKNopeHeadDim) + int64(mla.QKRopeHeadDim)
	latent, rank := int64(mla.KVLoraRank), int64(mla.QLoraRank)
	cached := latent + int64(mla.QKRopeHeadDim)
	reads := hidden
	if rank > 0 {
		reads = rank
		list = append(list, tensor{queryDown, 1, rank, hidden, replicated, 1}, vector(rank))
	}
	both := int64(mla.QKNopeHeadDim) + int64(mla.VHeadDim)
	list = append(list,
		tensor{queryUp, 1, mul(heads, width), reads, byOutput, width},
		tensor{latentDown, 1, cached, hidden, replicated, 1},
		vector(latent),
		tensor{latentUp, 1, mul(heads, both), latent, byOutput, both},
		tensor{output, 1, hidden, mul(heads, int64(mla.VHeadDim)), byInput, int64(mla.VHeadDim)})
	if a.Attention.OutputGate {
		list = append(list, tensor{query, 1, mul(heads, int64(mla.VHeadDim)), hidden, byOutput, int64(mla.VHeadDim)})
	}
	if a.Attention.QKVBias {
		list = append(list, vector(rank+cached))
	}
	if a.Attention.OutputBias {
		list = append(list, vector(hidden))
	}
	if index := mla.Indexer; index != nil {
		list = indexer(list, index, hidden, reads)
	}
	return list
}

// indexer lists the tensors that select tokens; engines keep them whole on every rank. Source: class Indexer of
// deepseek-ai/DeepSeek-V3.2-Exp, inference/model.py.
func indexer(list []tensor, index *v1alpha1.Indexer, hidden, reads int64) []tensor {
	heads, width := int64(index.Heads), int64(index.HeadDim)
	return append(list,
		tensor{indexQuery, 1, mul(heads, width), reads, replicated, 1},
		tensor{indexKey, 1, width, hidden, replicated, 1},
		tensor{plain, 1, heads, hidden, replicated, 1}, // weights of the heads
		vector(2*width)) // LayerNorm of the keys
}
