package model

import "github.com/rankwright/rankwright/api/v1alpha1"

// encoderWeights counts an encoder: two convolutions over three positions each, learned positions, and layers of attention and an
// ungated block with LayerNorm, whose key projection alone has no bias. Source: WhisperEncoder of Hugging Face transformers.
func encoderWeights(a *v1alpha1.Architecture) int64 {
	e := a.Encoder
	switch {
	case e == nil:
		return 0
	case e.Channels == 0:
		return textEncoderWeights(a, e)
	}
	hidden, width := int64(a.HiddenSize), int64(e.IntermediateSize)
	convolutions := add(mul(add(mul(3, int64(e.Channels)), 1), hidden), mul(add(mul(3, hidden), 1), hidden))
	attention := add(mul(4, mul(hidden, hidden)), mul(3, hidden))
	block := add(mul(2, mul(hidden, width)), add(width, hidden))
	layer := add(add(attention, block), mul(4, hidden))
	sum := add(convolutions, mul(int64(e.Positions), hidden))
	return add(add(sum, mul(int64(e.Layers), layer)), mul(2, hidden))
}

// textEncoderWeights counts an encoder of text: layers with attention and a block of the decoder's form, two norms each, and a final
// norm. Source: T5Stack and BartEncoder of Hugging Face transformers.
func textEncoderWeights(a *v1alpha1.Architecture, e *v1alpha1.Encoder) int64 {
	var buffer tensorBuffer
	own := *a
	own.Attention.Heads, own.Attention.KVHeads = e.Heads, e.Heads
	layer := mul(2, normWeights(a))
	for _, t := range feedForward(headAttention(buffer[:0], &own, headsOf(&own, 0)), &own, int64(e.IntermediateSize), blockIn, blockOut) {
		layer = add(layer, t.weights())
	}
	return add(mul(int64(e.Layers), layer), normWeights(a))
}

// EncoderParameters counts the weights of the encoder; 0 where there is none.
func (m *Model) EncoderParameters() int64 { return encoderWeights(&m.Architecture) }

// positionWeights counts the table of learned positions.
func positionWeights(a *v1alpha1.Architecture) int64 {
	return mul(int64(a.Positions), int64(a.HiddenSize))
}
