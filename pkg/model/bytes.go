package model

import (
	"math/bits"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// BytesPer returns the bytes of a weight in a precision, block scales included, as the fraction num/den: 17/32 for MXFP4
// (4.25 bits), 9/16 for NVFP4 (4.5 bits), 133/256 for INT4 (4.15625 bits). An unknown precision counts as 16 bits.
func BytesPer(p v1alpha1.Precision) (num, den int64) {
	f, ok := formats[p]
	if !ok {
		f = sixteenBits
	}
	num, den = f.bits, 8
	if f.columns > 0 {
		num, den = f.bits*f.columns+f.perBlock, 8*f.columns
	}
	common := bits.TrailingZeros64(uint64(num | den)) // den is a power of two
	return num >> common, den >> common
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
	sum := add(m.embeddingBytes(p), m.FinalNormBytes(p))
	if !m.Architecture.TiedEmbeddings {
		sum = add(sum, m.headBytes(p))
	}
	return add(sum, m.overLayers(p, func(layer int) int64 { return m.layerBytes(layer, 1, &l) }))
}

// LayerWeightBytes returns the bytes of a layer stored in p; 0 where there is no such layer.
func (m *Model) LayerWeightBytes(layer int, p v1alpha1.Precision) int64 {
	return m.LayerWeightBytesPerRank(layer, 1, p)
}

// layerBytes returns the bytes of a layer that each tensor rank stores.
func (m *Model) layerBytes(layer, ranks int, l *layout) int64 {
	var sum int64
	var buffer tensorBuffer
	list := layerTensors(&m.Architecture, layer, &buffer)
	for i := range list {
		t := &list[i]
		out, in := t.perRank(ranks)
		sum = add(sum, l.of(t.module, layer).bytes(t.count, out, in))
	}
	return sum
}

// embeddingBytes returns the bytes that the first stage stores before its layers, in p: the input embedding table,
// learned positions and the encoder.
func (m *Model) embeddingBytes(p v1alpha1.Precision) int64 {
	return add(m.embeddingRowBytes(int64(m.Architecture.VocabSize), p), m.beforeBytes(p))
}

// embeddingRowBytes returns the bytes of some rows of the embedding table.
func (m *Model) embeddingRowBytes(rows int64, p v1alpha1.Precision) int64 {
	l := m.layout(p)
	return l.table().bytes(1, rows, int64(m.Architecture.HiddenSize))
}

// beforeBytes returns the bytes before the layers except those of the embedding table; every rank has all of them.
func (m *Model) beforeBytes(p v1alpha1.Precision) int64 {
	return storedPlain(add(add(positionWeights(&m.Architecture), m.EncoderParameters()), max(0, m.Architecture.OtherParameters)), p)
}

// headBytes returns the bytes of the output head as the last stage stores it. Where a model shares its embedding table,
// that is a copy of the table; on a single stage the table is stored once and headBytes must not be added.
func (m *Model) headBytes(p v1alpha1.Precision) int64 {
	return m.headRowBytes(int64(m.Architecture.VocabSize), p)
}

// headRowBytes returns the bytes of some rows of the head.
func (m *Model) headRowBytes(rows int64, p v1alpha1.Precision) int64 {
	if m.Architecture.NoHead {
		return 0
	}
	l := m.layout(p)
	bias := storedPlain(headBias(&m.Architecture), p)
	return add(bias, l.head().bytes(1, rows, int64(m.Architecture.HiddenSize)))
}

// FinalNormBytes returns the bytes of the norm between the last layer and the head, which every rank of the last stage
// has.
func (m *Model) FinalNormBytes(p v1alpha1.Precision) int64 {
	return storedPlain(m.FinalNormParameters(), p)
}
