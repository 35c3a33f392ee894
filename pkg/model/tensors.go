package model

import "github.com/rankwright/rankwright/api/v1alpha1"

// storage says which formats under 16 bits a tensor is stored in.
type storage int

const (
	// plain tensors keep 16 bits in every one: norms, biases, routers and attention sinks are too small to gain by it.
	plain storage = iota
	// linear tensors are stored in the format, but not in MXFP4 where the model is a mixture of experts.
	linear
	// expert tensors are stored in the format; a token visits a share of them.
	expert
	// expertBias tensors keep 16 bits; a token visits a share of them.
	expertBias
)

// tensor is a group of weights of a layer that are split and stored alike.
type tensor struct {
	// parts are what tensor ranks share out: heads, or columns of a block. A tensor of one part is replicated.
	parts int64
	// perPart is the number of weights in a part.
	perPart int64
	storage storage
}

// tensorBuffer holds the tensors of a layer, so that counting them does not allocate: the longest list is that of a
// biased mixture with everything.
type tensorBuffer [16]tensor

func (t tensor) weights() int64 { return mul(t.parts, t.perPart) }

// perRank is what each of some ranks stores: whole parts, at least one (so that key and value heads are replicated where
// there are fewer than ranks).
func (t tensor) perRank(ranks int) int64 { return mul(ceil(t.parts, int64(ranks)), t.perPart) }

// active is the share that a token visits.
func (t tensor) active(a *v1alpha1.Architecture) int64 {
	routed := t.storage == expert || t.storage == expertBias
	if !routed || a.MoE.Experts < 1 {
		return t.weights()
	}
	return mul(t.weights()/int64(a.MoE.Experts), int64(a.MoE.ActiveExperts))
}

// layerTensors lists the tensors of a layer; nothing where there is no such layer.
func layerTensors(a *v1alpha1.Architecture, layer int, buffer *tensorBuffer) []tensor {
	if layer < 0 || layer >= int(a.Layers) {
		return nil
	}
	buffer[0] = tensor{1, mul(norms(a), normWeights(a)), plain}
	list := buffer[:1]
	if a.Attention.MLA != nil {
		list = latentAttention(list, a, a.Attention.MLA)
	} else {
		list = headAttention(list, a)
	}
	if isMixture(a, layer) {
		return mixture(list, a, a.MoE)
	}
	return feedForward(list, a, int64(a.MLP.IntermediateSize))
}

// norms is how many normalisation vectors a layer has: 2 where nothing is said, as the API's default.
func norms(a *v1alpha1.Architecture) int64 {
	if a.NormsPerLayer == nil {
		return 2
	}
	return int64(*a.NormsPerLayer)
}

func normWeights(a *v1alpha1.Architecture) int64 {
	if a.NormBias {
		return mul(2, int64(a.HiddenSize))
	}
	return int64(a.HiddenSize)
}

// headAttention lists attention with keys and values for each head or group of heads.
func headAttention(list []tensor, a *v1alpha1.Architecture) []tensor {
	hidden, width := int64(a.HiddenSize), int64(a.Attention.HeadDim)
	heads, kvHeads := int64(a.Attention.Heads), int64(a.Attention.KVHeads)
	list = append(list,
		tensor{heads, mul(2, mul(hidden, width)), linear}, // query and output
		tensor{kvHeads, mul(2, mul(hidden, width)), linear})
	if a.Attention.QKVBias {
		list = append(list, tensor{heads, width, plain}, tensor{kvHeads, 2 * width, plain})
	}
	if a.Attention.OutputBias {
		list = append(list, tensor{1, hidden, plain})
	}
	if a.Attention.QKNorm {
		list = append(list, tensor{1, 2 * width, plain})
	}
	if a.Attention.Sinks {
		list = append(list, tensor{heads, 1, plain})
	}
	return list
}

// latentAttention lists multi-head latent attention: the down-projections and their norms are on every rank, since every
// head needs the whole latent.
func latentAttention(list []tensor, a *v1alpha1.Architecture, mla *v1alpha1.MLA) []tensor {
	hidden, heads := int64(a.HiddenSize), int64(a.Attention.Heads)
	query := int64(mla.QKNopeHeadDim) + int64(mla.QKRopeHeadDim)
	latent, rank := int64(mla.KVLoraRank), int64(mla.QLoraRank)
	cached := latent + int64(mla.QKRopeHeadDim)
	if rank > 0 {
		list = append(list,
			tensor{1, mul(hidden, rank), linear},
			tensor{1, rank, plain},
			tensor{heads, mul(rank, query), linear})
	} else {
		list = append(list, tensor{heads, mul(hidden, query), linear})
	}
	list = append(list,
		tensor{1, mul(hidden, cached), linear},
		tensor{1, latent, plain},
		tensor{heads, mul(latent, int64(mla.QKNopeHeadDim)+int64(mla.VHeadDim)), linear},
		tensor{heads, mul(int64(mla.VHeadDim), hidden), linear})
	if a.Attention.QKVBias {
		list = append(list, tensor{1, rank + cached, plain})
	}
	if a.Attention.OutputBias {
		list = append(list, tensor{1, hidden, plain})
	}
	return list
}

// inputs is how many projections lead into a feed-forward block: the gate is one more.
func inputs(a *v1alpha1.Architecture) int64 {
	if a.MLP.Ungated {
		return 1
	}
	return 2
}

// feedForward lists a dense block of some width.
func feedForward(list []tensor, a *v1alpha1.Architecture, width int64) []tensor {
	hidden := int64(a.HiddenSize)
	if width <= 0 {
		return list
	}
	list = append(list, tensor{width, mul(inputs(a)+1, hidden), linear})
	if a.MLP.Bias {
		list = append(list, tensor{width, inputs(a), plain}, tensor{1, hidden, plain})
	}
	return list
}

// mixture lists routed and shared experts and their router. Tensor ranks share out the width of every expert.
func mixture(list []tensor, a *v1alpha1.Architecture, moe *v1alpha1.MoE) []tensor {
	hidden, experts, width := int64(a.HiddenSize), int64(moe.Experts), int64(moe.IntermediateSize)
	list = append(list,
		tensor{width, mul(experts, mul(inputs(a)+1, hidden)), expert},
		tensor{1, mul(experts, hidden), plain})
	if moe.RouterBias {
		list = append(list, tensor{1, experts, plain})
	}
	if moe.ExpertBias {
		list = append(list, tensor{width, mul(experts, inputs(a)), expertBias}, tensor{1, mul(experts, hidden), expertBias})
	}
	return feedForward(list, a, int64(moe.SharedIntermediateSize))
}
