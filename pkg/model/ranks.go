package model

import "github.com/rankwright/rankwright/api/v1alpha1"

// LayerWeightBytesPerRank returns the bytes of a layer that each tensor rank stores, the largest share where they differ.
// Query heads and the width of feed-forward blocks and experts are shared out; key and value heads are replicated where
// there are fewer than ranks; norms, routers, output biases and the down-projections of a latent are on every rank.
func (m *Model) LayerWeightBytesPerRank(layer, tensor int, p v1alpha1.Precision) int64 {
	l := m.layout(p)
	return m.layerBytes(layer, tensor, &l)
}

// vocabRows is the padding of a rank's share of the vocabulary: engines keep matrix sizes a multiple of 64.
const vocabRows = 64

// EmbeddingBytesPerRank returns the bytes that each tensor rank stores of the embedding table: an equal share of its
// rows, rounded up to 64. A single rank stores the table as it is. Learned positions and an encoder are on every rank.
func (m *Model) EmbeddingBytesPerRank(tensor int, p v1alpha1.Precision) int64 {
	return add(m.embeddingRowBytes(m.vocabRows(tensor), p), m.beforeBytes(p))
}

// HeadBytesPerRank returns the bytes of the head that each tensor rank of the last stage stores, split as the embedding
// table is. HeadBytes says when it must not be added.
func (m *Model) HeadBytesPerRank(tensor int, p v1alpha1.Precision) int64 {
	return m.headRowBytes(m.vocabRows(tensor), p)
}

func (m *Model) vocabRows(tensor int) int64 {
	rows := int64(m.Architecture.VocabSize)
	if tensor <= 1 {
		return rows
	}
	return mul(ceil(ceil(rows, int64(tensor)), vocabRows), vocabRows)
}
