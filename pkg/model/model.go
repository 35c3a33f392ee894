// Package model says what a model is: parameters, bytes and KV cache, counted tensor by tensor from its architecture. It
// knows no devices.
//
// Layers and ranks count from 0. Sums are saturated at the largest int64 instead of wrapping; a Model made by one of
// the constructors is small enough that no sum over its weights gets there.
package model

import "github.com/rankwright/rankwright/api/v1alpha1"

// Model is a model with the architecture that everything about it is computed from.
type Model struct {
	// Name is the catalogue's name or the caller's.
	Name string
	// Architecture is what every number is computed from.
	Architecture v1alpha1.Architecture
	// Native is the precision of the published checkpoint.
	Native v1alpha1.Precision
	// Assumptions is what was assumed where the source did not say, a sentence each.
	Assumptions []string
	// Synthetic says that only the number of parameters was known and the architecture is made up.
	Synthetic bool
}

// Parameters counts every weight; a shared embedding table counts once.
func (m *Model) Parameters() int64 {
	sum := add(m.EmbeddingParameters(), add(m.HeadParameters(), m.FinalNormParameters()))
	return add(sum, m.overLayers(m.LayerParameters))
}

// ActiveParameters counts the weights that take part in a token's arithmetic: those of all layers, of routed experts only
// the ones that it visits, the final norm and the head (a shared table too), but not the lookup of its embedding.
func (m *Model) ActiveParameters() int64 {
	a := &m.Architecture
	sum := add(mul(int64(a.VocabSize), int64(a.HiddenSize)), m.FinalNormParameters())
	return add(sum, m.overLayers(func(layer int) int64 {
		var active int64
		var buffer tensorBuffer
		for _, t := range layerTensors(a, layer, &buffer) {
			active = add(active, t.active(a))
		}
		return active
	}))
}

// LayerParameters counts the weights of a layer; 0 where there is no such layer.
func (m *Model) LayerParameters(layer int) int64 {
	var sum int64
	var buffer tensorBuffer
	for _, t := range layerTensors(&m.Architecture, layer, &buffer) {
		sum = add(sum, t.weights())
	}
	return sum
}

// EmbeddingParameters counts the input embedding table.
func (m *Model) EmbeddingParameters() int64 {
	return mul(int64(m.Architecture.VocabSize), int64(m.Architecture.HiddenSize))
}

// HeadParameters counts the output head; 0 where it shares the embedding table, of which HeadBytes then stores a copy.
func (m *Model) HeadParameters() int64 {
	if m.Architecture.TiedEmbeddings {
		return 0
	}
	return m.EmbeddingParameters()
}

// FinalNormParameters counts the norm between the last layer and the head.
func (m *Model) FinalNormParameters() int64 { return normWeights(&m.Architecture) }

// overLayers sums a count over all layers; it needs two calls, since a layer is either dense or a mixture.
func (m *Model) overLayers(count func(layer int) int64) int64 {
	a := &m.Architecture
	mixtures := int64(mixtureLayers(a))
	dense := max(0, int64(a.Layers)-mixtures)
	var sum int64
	if mixtures > 0 {
		sum = mul(mixtures, count(int(a.MoE.FirstLayer)))
	}
	if dense > 0 {
		sum = add(sum, mul(dense, count(firstDense(a))))
	}
	return sum
}
