package model

import "github.com/rankwright/rankwright/api/v1alpha1"

// LayerWeightBytesPerRank is what each of the tensor ranks stores of a layer, the largest share where they differ. Query
// heads and the width of feed-forward blocks and experts are shared out; key and value heads are replicated where there
// are fewer than ranks; norms, routers, output biases and the down-projections of a latent are on every rank.
func (m *Model) LayerWeightBytesPerRank(layer, tensor int, p v1alpha1.Precision) int64 {
	a := &m.Architecture
	var inFormat, in16 int64
	var buffer tensorBuffer
	for _, t := range layerTensors(a, layer, &buffer) {
		weights := t.perRank(tensor)
		if quantizes(a, t, p) {
			inFormat = add(inFormat, weights)
		} else {
			in16 = add(in16, weights)
		}
	}
	return add(stored(inFormat, p), storedPlain(in16, p))
}

// vocabRows is the padding of a rank's share of the vocabulary: engines keep matrix sizes a multiple of 64.
const vocabRows = 64

// EmbeddingBytesPerRank is what each of the tensor ranks stores of the embedding table: an equal share of its rows,
// rounded up to 64. A single rank stores the table as it is.
func (m *Model) EmbeddingBytesPerRank(tensor int, p v1alpha1.Precision) int64 {
	if tensor <= 1 {
		return m.EmbeddingBytes(p)
	}
	rows := mul(ceil(ceil(int64(m.Architecture.VocabSize), int64(tensor)), vocabRows), vocabRows)
	return storedPlain(mul(rows, int64(m.Architecture.HiddenSize)), p)
}

// HeadBytesPerRank is what each of the tensor ranks of the last stage stores of the head, split as the embedding table is.
// HeadBytes says when it must not be added.
func (m *Model) HeadBytesPerRank(tensor int, p v1alpha1.Precision) int64 {
	return m.EmbeddingBytesPerRank(tensor, p)
}

// TensorDegrees returns the tensor-parallel degrees up to limit that the model splits into without padding: they divide
// the query heads, the width of every block and expert, and the key and value heads, or are multiples of the latter, which
// are then replicated. 1 is always among them where limit is 1 or more.
func (m *Model) TensorDegrees(limit int) []int {
	var degrees []int
	for d := 1; d <= min(limit, max(1, int(m.Architecture.Attention.Heads))); d++ {
		if splits(&m.Architecture, d) {
			degrees = append(degrees, d)
		}
	}
	return degrees
}

func splits(a *v1alpha1.Architecture, degree int) bool {
	d, kv := int32(degree), max(1, a.Attention.KVHeads)
	if a.Attention.Heads%d != 0 || a.MLP.IntermediateSize%d != 0 {
		return false
	}
	if a.Attention.MLA == nil && kv%d != 0 && d%kv != 0 {
		return false
	}
	return a.MoE == nil || a.MoE.IntermediateSize%d == 0 && a.MoE.SharedIntermediateSize%d == 0
}
