package model

import "github.com/rankwright/rankwright/api/v1alpha1"

// fraction is num/den.
type fraction struct{ num, den int64 }

// bytesPer is the bytes of a weight, block scales included.
var bytesPer = map[v1alpha1.Precision]fraction{
	v1alpha1.FP32: {4, 1},
	v1alpha1.FP16: {2, 1},
	v1alpha1.BF16: {2, 1},
	// One scale for each tensor, channel or block of 128x128 is below a thousandth and is left out.
	v1alpha1.FP8:  {1, 1},
	v1alpha1.INT8: {1, 1},
	// 4 bits, with a 16-bit scale and a 4-bit zero point for each 128 weights (GPTQ and AWQ checkpoints): 4.15625 bits.
	v1alpha1.INT4: {133, 256},
	// 4 bits, with an 8-bit scale for each 32 weights (OCP Microscaling Formats 1.0): 4.25 bits.
	v1alpha1.MXFP4: {17, 32},
	// 4 bits, with an 8-bit scale for each 16 weights (NVIDIA's NVFP4): 4.5 bits.
	v1alpha1.NVFP4: {9, 16},
	// FP4 is a rate and not a storage format: it counts as the larger of the two formats that compute at it.
	v1alpha1.FP4: {9, 16},
}

// BytesPer returns the bytes of a weight in a precision, block scales included, as the fraction num/den: 17/32 for MXFP4
// (4.25 bits), 9/16 for NVFP4 (4.5 bits), 133/256 for INT4 (4.15625 bits). An unknown precision counts as 16 bits.
func BytesPer(p v1alpha1.Precision) (num, den int64) {
	f, ok := bytesPer[p]
	if !ok {
		return 2, 1
	}
	return f.num, f.den
}

// stored returns the bytes of some weights in a format, rounded up to whole bytes.
func stored(weights int64, p v1alpha1.Precision) int64 {
	num, den := BytesPer(p)
	return ceil(mul(weights, num), den)
}

// storedPlain returns the bytes of weights that are never stored in less than 16 bits.
func storedPlain(weights int64, p v1alpha1.Precision) int64 {
	if num, den := BytesPer(p); num < 2*den {
		return mul(weights, 2)
	}
	return stored(weights, p)
}

// WeightBytes returns the bytes of the whole model stored once in p. In the precision of the published checkpoint the
// model is stored as it was published: what the quantization_config leaves out keeps 16 bits, and block scales count. In
// other formats under 16 bits the embedding table, the head, norms, biases, routers and attention sinks keep 16 bits; in
// MXFP4 a mixture of experts stores only its routed experts in that format.
func (m *Model) WeightBytes(p v1alpha1.Precision) int64 {
	l := m.layout(p)
	sum := add(m.EmbeddingBytes(p), m.FinalNormBytes(p))
	if !m.Architecture.TiedEmbeddings {
		sum = add(sum, m.HeadBytes(p))
	}
	layer := func(layer int) int64 { return layerBytes(&m.Architecture, layer, 1, &l) }
	if l.published == nil {
		return add(sum, m.overLayers(layer))
	}
	for i := range int(min(m.Architecture.Layers, maxLayers)) {
		sum = add(sum, layer(i))
	}
	return sum
}

// LayerWeightBytes returns the bytes of a layer stored in p; 0 where there is no such layer.
func (m *Model) LayerWeightBytes(layer int, p v1alpha1.Precision) int64 {
	return m.LayerWeightBytesPerRank(layer, 1, p)
}

// layerBytes returns the bytes of a layer that each tensor rank stores.
func layerBytes(a *v1alpha1.Architecture, layer, tensor int, l *layout) int64 {
	var sum int64
	var buffer tensorBuffer
	list := layerTensors(a, layer, &buffer)
	for i := range list {
		t := &list[i]
		out, in := t.perRank(tensor)
		sum = add(sum, l.of(t.module, layer).bytes(t.count, out, in))
	}
	return sum
}

// EmbeddingBytes returns the bytes that the first stage stores before its layers, in p: the input embedding table,
// learned positions and the encoder.
func (m *Model) EmbeddingBytes(p v1alpha1.Precision) int64 {
	return add(storedPlain(m.EmbeddingParameters(), p), m.beforeBytes(p))
}

// beforeBytes returns the bytes before the layers except those of the embedding table; every rank has all of them.
func (m *Model) beforeBytes(p v1alpha1.Precision) int64 {
	return storedPlain(add(positionWeights(&m.Architecture), m.EncoderParameters()), p)
}

// HeadBytes returns the bytes of the output head as the last stage stores it. Where a model shares its embedding table,
// that is a copy of the table; on a single stage the table is stored once and HeadBytes must not be added.
func (m *Model) HeadBytes(p v1alpha1.Precision) int64 {
	return m.headBytes(int64(m.Architecture.VocabSize), p)
}

// headBytes returns the bytes of some rows of the head.
func (m *Model) headBytes(rows int64, p v1alpha1.Precision) int64 {
	l := m.layout(p)
	bias := storedPlain(headBias(&m.Architecture), p)
	return add(bias, l.head().bytes(1, rows, int64(m.Architecture.HiddenSize)))
}

// FinalNormBytes returns the bytes of the norm between the last layer and the head, which every rank of the last stage
// has.
func (m *Model) FinalNormBytes(p v1alpha1.Precision) int64 {
	return storedPlain(m.FinalNormParameters(), p)
}
