package model

import "github.com/rankwright/rankwright/api/v1alpha1"

// DecodeFLOPs returns the floating-point operations of one token with context tokens before it: two for each active
// weight, and attention over the tokens that each layer looks at. Latent attention is counted as engines decode it, on
// the latent itself.
func (m *Model) DecodeFLOPs(context int64) float64 {
	a := &m.Architecture
	context = max(0, context)
	sum := 2 * float64(m.ActiveParameters())
	for layer := range int(min(a.Layers, maxLayers)) {
		attended, indexed := spans(a, layer)
		sum += fixedFLOPs(a, layer) + decodePair(a)*attended.seen(context) + indexPair(a)*indexed.seen(context)
	}
	return sum
}

// PrefillFLOPs returns the floating-point operations of a prompt of some tokens: two for each token and active weight,
// the head for the last token alone, causal attention with the keys of every head, and the encoder where there is one.
func (m *Model) PrefillFLOPs(tokens int64) float64 {
	a := &m.Architecture
	if tokens <= 0 {
		return 0
	}
	head := float64(m.EmbeddingParameters())
	sum := 2*(float64(m.ActiveParameters())-head)*float64(tokens) + 2*head
	for layer := range int(min(a.Layers, maxLayers)) {
		attended, indexed := spans(a, layer)
		sum += fixedFLOPs(a, layer)*float64(tokens) + prefillPair(a)*attended.pairs(tokens) + indexPair(a)*indexed.pairs(tokens)
	}
	return sum + encoderFLOPs(a)
}

// decodePair returns the operations for a token and one that it looks at: two for each value of a key in the score, and
// two for each value of a value vector in the sum.
func decodePair(a *v1alpha1.Architecture) float64 {
	heads := float64(a.Attention.Heads)
	if mla := a.Attention.MLA; mla != nil {
		return 2 * heads * float64(2*int64(mla.KVLoraRank)+int64(mla.QKRopeHeadDim))
	}
	return 4 * heads * float64(a.Attention.HeadDim)
}

// prefillPair is decodePair with the keys and values of every head made from the latent.
func prefillPair(a *v1alpha1.Architecture) float64 {
	mla := a.Attention.MLA
	if mla == nil {
		return decodePair(a)
	}
	widths := int64(mla.QKNopeHeadDim) + int64(mla.QKRopeHeadDim) + int64(mla.VHeadDim)
	return 2 * float64(a.Attention.Heads) * float64(widths)
}

// indexPair returns the operations of an indexer for a token and one that it scores.
func indexPair(a *v1alpha1.Architecture) float64 {
	index := indexerOf(a)
	if index == nil {
		return 0
	}
	return 2 * float64(index.Heads) * float64(index.HeadDim)
}

// fixedFLOPs returns the operations of a token in a layer that depend neither on weights nor on earlier tokens: updating
// and reading a recurrent state (two operations a value each; the delta rule reads it once more), or attention to the
// encoder's output.
func fixedFLOPs(a *v1alpha1.Architecture, layer int) float64 {
	if isRecurrent(a, layer) {
		state := float64(a.Recurrent.ValueHeads) * float64(a.Recurrent.KeyHeadDim) * float64(a.Recurrent.ValueHeadDim)
		if a.Recurrent.Kind == v1alpha1.Lightning {
			return 4 * state
		}
		return 6 * state
	}
	if a.Encoder != nil {
		return decodePair(a) * float64(a.Encoder.Positions)
	}
	return 0
}

// encoderFLOPs returns the operations of the encoder for one input.
func encoderFLOPs(a *v1alpha1.Architecture) float64 {
	if a.Encoder == nil {
		return 0
	}
	positions := float64(a.Encoder.Positions)
	attention := 4 * float64(a.HiddenSize) * positions * positions * float64(a.Encoder.Layers)
	return 2*float64(encoderWeights(a))*positions + attention
}
