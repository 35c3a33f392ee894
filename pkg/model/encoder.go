package model

import "github.com/rankwright/rankwright/api/v1alpha1"

// encoderWeights counts an encoder: two convolutions over three positions each, learned positions, and layers of attention and an
// ungated block with LayerNorm, whose key projection alone has no bias. Source: WhisperEncoder of Hugging Face transformers.
func encoderWeights(a *v1alpha1.Architecture) int64 {
	e := a.Encoder
	if e == nil {
		return 0
	}
	hidden, width := int64(a.HiddenSize), int64(e.IntermediateSize)
	convolutions := add(mul(add(mul(3, int64(e.Channels)), 1), hidden), mul(add(mul(3, hidden), 1), hidden))
	attention := add(mul(4, mul(hidden, hidden)), mul(3, hidden))
	block := add(mul(2, mul(hidden, width)), add(width, hidden))
	layer := add(add(attention, block), mul(4, hidden))
	sum := add(convolutions, mul(int64(e.Positions), hidden))
	return add(add(sum, mul(int64(e.Layers), layer)), mul(2, hidden))
}

// EncoderParameters counts the weights of the encoder; 0 where there is none.
func (m *Model) EncoderParameters() int64 { return encoderWeights(&m.Architecture) }

// positionWeights counts the table of learned positions.
func positionWeights(a *v1alpha1.Architecture) int64 {
	return mul(int64(a.Positions), int64(a.HiddenSize))
}
