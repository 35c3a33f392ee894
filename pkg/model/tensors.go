package model

import "github.com/rankwright/rankwright/api/v1alpha1"

// axis says what tensor ranks share out of a matrix.
type axis uint8

const (
	// replicated matrices are whole on every rank.
	replicated axis = iota
	// byOutput shares out the rows, one for each output.
	byOutput
	// byInput shares out the columns, one for each input.
	byInput
)

// tensor is some matrices of a layer that are alike; a vector has one input.
type tensor struct {
	module module
	// count is the number of matrices: one for each expert, and for both inputs of a gated block.
	count   int64
	out, in int64
	split   axis
	// unit is what stays together on a rank: the outputs or inputs of a head.
	unit int64
}

// tensorBuffer holds the tensors of a layer, so that counting them does not allocate.
type tensorBuffer [32]tensor

func (t tensor) weights() int64 { return mul(t.count, mul(t.out, t.in)) }

// perRank returns the share of each of some ranks: whole units, at least one, so that key and value heads are replicated
// where there are fewer than ranks.
func (t *tensor) perRank(ranks int) (out, in int64) {
	switch {
	case t.split == byOutput && ranks > 1:
		return shared(t.out, t.unit, ranks), t.in
	case t.split == byInput && ranks > 1:
		return t.out, shared(t.in, t.unit, ranks)
	default:
		return t.out, t.in
	}
}

func shared(size, unit int64, ranks int) int64 {
	if unit <= 1 {
		return ceil(size, int64(ranks))
	}
	return mul(ceil(ceil(size, unit), int64(ranks)), unit)
}

// active returns the number of the tensor's weights that a token visits.
func (t *tensor) active(a *v1alpha1.Architecture) int64 {
	if !t.module.routed() || a.MoE.Experts < 1 {
		return t.weights()
	}
	return mul(t.weights()/int64(a.MoE.Experts), int64(a.MoE.ActiveExperts))
}

// vector returns a tensor that keeps 16 bits in every format and that every rank has.
func vector(n int64) tensor { return tensor{plain, 1, n, 1, replicated, 1} }

// headVector returns a vector with some weights for each head, which are on the head's rank.
func headVector(heads, width int64) tensor {
	return tensor{plain, 1, mul(heads, width), 1, byOutput, width}
}

// layerTensors lists the tensors of a layer; nothing where there is no such layer.
func layerTensors(a *v1alpha1.Architecture, layer int, buffer *tensorBuffer) []tensor {
	if layer < 0 || layer >= int(a.Layers) {
		return nil
	}
	buffer[0] = vector(mul(norms(a), normWeights(a)))
	list := buffer[:1]
	if recurs(a, layer) {
		list = recurrence(list, a, a.Recurrent)
	}
	if attends(a, layer) {
		list = attention(list, a, layer)
	}
	switch {
	case blockless(a, layer):
		return list
	case isMixture(a, layer):
		return mixture(list, a, a.MoE)
	}
	return feedForward(list, a, int64(a.MLP.IntermediateSize), blockIn, blockOut)
}

func attention(list []tensor, a *v1alpha1.Architecture, layer int) []tensor {
	switch {
	case a.Attention.MLA != nil:
		list = latentAttention(list, a, a.Attention.MLA)
	case a.Attention.Compressed != nil:
		list = compressedAttention(list, a, a.Attention.Compressed, layer)
	default:
		list = headAttention(list, a, headsOf(a, layer))
	}
	if a.Encoder != nil {
		list = headAttention(list, a, headsOf(a, layer))
	}
	return list
}

// norms returns how many normalisation vectors a layer has: 2, the API's default, where the architecture does not say.
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
	return max(0, int64(a.HiddenSize))
}
