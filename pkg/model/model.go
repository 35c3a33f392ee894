// Package model says what a model is: parameters, bytes and KV cache, counted tensor by tensor from its architecture. It
// knows no devices.
//
// Layers and ranks count from 0. Sums are saturated at the largest int64 instead of wrapping; a Model made by one of
// the constructors is small enough that none of its sums gets there.
package model

import (
	"github.com/rankwright/rankwright/api/v1alpha1"
)

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

// MaxParameters bounds a model: the API's own bound, which keeps every sum of bytes far inside an int64.
const MaxParameters = 100_000_000_000_000

// FromArchitecture makes a model of an architecture. The error names the field, its value and the remedy.
func FromArchitecture(name string, a v1alpha1.Architecture) (*Model, error) {
	return nil, nil
}

// FromConfig makes a model of a Hugging Face config.json. The error names the field, its value and the remedy.
func FromConfig(name string, config []byte) (*Model, error) { return nil, nil }

// FromParameters makes a synthetic model of about n parameters.
func FromParameters(n int64) (*Model, error) { return nil, nil }

// Lookup finds a model by its catalogue name or hub id, case-insensitively; the error lists near names.
func Lookup(name string) (*Model, error) { return nil, nil }

// Names returns the names of the catalogue, sorted.
func Names() []string { return nil }

// BytesPer is what a parameter takes in a precision, block scales included, as a fraction of bytes.
func BytesPer(p v1alpha1.Precision) (num, den int64) { return 2, 1 }

// Parameters counts every weight.
func (m *Model) Parameters() int64 { return 0 }

// ActiveParameters counts the weights that a token touches, with the head and without the embedding table.
func (m *Model) ActiveParameters() int64 { return 0 }

// LayerParameters counts the weights of a layer.
func (m *Model) LayerParameters(layer int) int64 { return 0 }

// EmbeddingParameters counts the input embedding table.
func (m *Model) EmbeddingParameters() int64 { return 0 }

// HeadParameters counts the output head; 0 where it shares the embedding table.
func (m *Model) HeadParameters() int64 { return 0 }

// FinalNormParameters counts the norm before the head.
func (m *Model) FinalNormParameters() int64 { return 0 }

// WeightBytes is the whole model stored in p.
func (m *Model) WeightBytes(p v1alpha1.Precision) int64 { return 0 }

// LayerWeightBytes is a layer stored in p.
func (m *Model) LayerWeightBytes(layer int, p v1alpha1.Precision) int64 { return 0 }

// LayerWeightBytesPerRank is what one of tensor ranks stores of a layer.
func (m *Model) LayerWeightBytesPerRank(layer, tensor int, p v1alpha1.Precision) int64 { return 0 }

// EmbeddingBytes is the input embedding table stored in p.
func (m *Model) EmbeddingBytes(p v1alpha1.Precision) int64 { return 0 }

// EmbeddingBytesPerRank is what one of tensor ranks stores of the embedding table.
func (m *Model) EmbeddingBytesPerRank(tensor int, p v1alpha1.Precision) int64 { return 0 }

// HeadBytes is the head and the final norm's table as the last stage stores it.
func (m *Model) HeadBytes(p v1alpha1.Precision) int64 { return 0 }

// HeadBytesPerRank is what one of tensor ranks stores of the head.
func (m *Model) HeadBytesPerRank(tensor int, p v1alpha1.Precision) int64 { return 0 }

// KVBytesPerToken is the cache of a token over all layers at full length.
func (m *Model) KVBytesPerToken(p v1alpha1.Precision) int64 { return 0 }

// LayerKVBytes is the cache of one sequence in a layer.
func (m *Model) LayerKVBytes(layer int, tokens int64, p v1alpha1.Precision) int64 { return 0 }

// LayerKVBytesPerRank is what one of tensor ranks stores of it.
func (m *Model) LayerKVBytesPerRank(layer int, tokens int64, tensor int, p v1alpha1.Precision) int64 {
	return 0
}

// TensorDegrees returns the tensor-parallel degrees up to limit that divide the model evenly.
func (m *Model) TensorDegrees(limit int) []int { return nil }
