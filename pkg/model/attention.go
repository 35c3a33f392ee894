package model

import "github.com/rankwright/rankwright/api/v1alpha1"

// headAttention lists attention with keys and values for each head or group of heads.
func headAttention(list []tensor, a *v1alpha1.Architecture) []tensor {
	hidden, width := int64(a.HiddenSize), int64(a.Attention.HeadDim)
	heads, kvHeads := int64(a.Attention.Heads), int64(a.Attention.KVHeads)
	gated := width
	if a.Attention.OutputGate {
		gated = 2 * width
	}
	list = append(list,
		tensor{query, 1, mul(heads, gated), hidden, byOutput, gated},
		tensor{key, 1, mul(kvHeads, width), hidden, byOutput, width},
		tensor{value, 1, mul(kvHeads, width), hidden, byOutput, width},
		tensor{output, 1, hidden, mul(heads, width), byInput, width})
	if a.Attention.QKVBias {
		list = append(list, headVector(heads, gated), headVector(kvHeads, width))
		if !a.Attention.NoKeyBias {
			list = append(list, headVector(kvHeads, width))
		}
	}
	if a.Attention.OutputBias {
		list = append(list, vector(hidden))
	}
	if a.Attention.Sinks {
		list = append(list, headVector(heads, 1))
	}
	return queryKeyNorms(list, &a.Attention)
}

func queryKeyNorms(list []tensor, attention *v1alpha1.Attention) []tensor {
	width := int64(attention.HeadDim)
	switch {
	case !attention.QKNorm:
		return list
	case attention.QKNormPerHead:
		return append(list, headVector(int64(attention.Heads), width), headVector(int64(attention.KVHeads), width))
	default:
		return append(list, vector(2*width))
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
