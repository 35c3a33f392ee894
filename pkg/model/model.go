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
	// Checkpoint is the hub's id of the published weights; empty where it is not known.
	Checkpoint string
	// Architecture is what every number is computed from.
	Architecture v1alpha1.Architecture
	// Native is the precision of the published checkpoint.
	Native v1alpha1.Precision
	// Assumptions is what was assumed where the source did not say, a sentence each.
	Assumptions []string
	// Synthetic says that only the number of parameters was known and the architecture is made up.
	Synthetic bool
	// NextTokenModules is the number of multi-token-prediction modules that the checkpoint has beside the model. They are
	// loaded for speculative decoding only, so only counts of the checkpoint include them.
	NextTokenModules int
	// otherModules is the number of such modules of another form, which counts of the checkpoint leave out.
	otherModules int
	// adapters are LoRA adapters in the checkpoint.
	adapters adapters
	// storage is how the published checkpoint stores its weights; nil where it stores all weights alike.
	storage *storage
	// others are published checkpoints of the same weights in other precisions, the one to take of each first.
	others []publication
}

// publication is a published checkpoint.
type publication struct {
	precision v1alpha1.Precision
	id        string // the hub's
	of        *catalogued
}

// Stored returns the hub's id of a published checkpoint that stores the weights in a precision; false where none is known. The id of
// the model's own one is empty where it is not on the hub.
func (m *Model) Stored(in v1alpha1.Precision) (checkpoint string, known bool) {
	if in == m.Native {
		return m.Checkpoint, true
	}
	for i := range m.others {
		if m.others[i].precision == in {
			return m.others[i].id, true
		}
	}
	return "", false
}

// Pinned returns the model with no checkpoint but its own.
func (m *Model) Pinned() *Model {
	own := *m
	own.others = nil
	return &own
}

// published returns how a published checkpoint stores its weights in a precision; nil where it stores all alike or none is known.
func (m *Model) published(p v1alpha1.Precision) *storage {
	if p == m.Native {
		return m.storage
	}
	for i := range m.others {
		if m.others[i].precision == p {
			stored, _ := m.others[i].of.stored() // a test reads all of them
			return stored
		}
	}
	return nil
}

// embeddingParameters counts the input embedding table.
func (m *Model) embeddingParameters() int64 {
	return mul(int64(m.Architecture.VocabSize), int64(m.Architecture.HiddenSize))
}

// HeadParameters counts the output head. Where it shares the embedding table, only its bias counts here, though HeadBytes
// includes a copy of the table.
func (m *Model) HeadParameters() int64 {
	switch {
	case m.Architecture.NoHead:
		return 0
	case m.Architecture.TiedEmbeddings:
		return headBias(&m.Architecture)
	}
	return add(m.embeddingParameters(), headBias(&m.Architecture))
}

func headBias(a *v1alpha1.Architecture) int64 {
	if a.HeadBias {
		return int64(a.VocabSize)
	}
	return 0
}

// FinalNormParameters counts the norm between the last layer and the head.
func (m *Model) FinalNormParameters() int64 { return normWeights(&m.Architecture) }

// overLayers sums a count over all layers, with one call for all layers of a form in a precision.
func (m *Model) overLayers(p v1alpha1.Precision, count func(layer int) int64) int64 {
	var sum int64
	each := make([]int64, 0, 16)
	for _, run := range m.LayerRuns(p) {
		if run.Form == len(each) {
			each = append(each, count(run.First))
		}
		sum = add(sum, mul(int64(run.End-run.First), each[run.Form]))
	}
	return sum
}

// overTensors sums a count over the tensors of a layer.
func (m *Model) overTensors(layer int, count func(tensor) int64) int64 {
	var sum int64
	var buffer tensorBuffer
	list := layerTensors(&m.Architecture, layer, &buffer)
	for i := range list {
		sum = add(sum, count(list[i]))
	}
	return sum
}
