package model

import (
	"errors"
	"fmt"
	"math"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// MaxParameters bounds a model (2^47): above what the API lets a placement ask for, and small enough that every sum of
// bytes is far inside an int64.
const MaxParameters = 1 << 47

// FromArchitecture makes a model of an architecture, which it checks as the API server would. The error names the field,
// its value and the remedy.
func FromArchitecture(name string, a v1alpha1.Architecture) (*Model, error) {
	m := &Model{
		Name: name, Architecture: *a.DeepCopy(), Native: v1alpha1.BF16,
		Assumptions: []string{"the checkpoint is in BF16: an architecture does not say"},
	}
	if err := m.validate(); err != nil {
		return nil, err
	}
	return m, nil
}

// bound is the range of a field.
type bound struct {
	field     string
	value     int32
	low, high int32
}

// validate holds the architecture to the bounds of the API and to MaxParameters.
func (m *Model) validate() error {
	a := &m.Architecture
	for _, b := range bounds(a) {
		if b.value < b.low || b.value > b.high {
			return fmt.Errorf("%s is %d: set it to a value from %d to %d", b.field, b.value, b.low, b.high)
		}
	}
	if a.Attention.MLA == nil && a.Attention.Heads%a.Attention.KVHeads != 0 {
		return fmt.Errorf("attention.heads is %d and attention.kvHeads %d: set kvHeads to a divisor of heads, or to heads where every head has keys and values of its own", a.Attention.Heads, a.Attention.KVHeads)
	}
	if a.Attention.MLA != nil && a.Attention.Compressed != nil {
		return errors.New("attention.mla and attention.compressed are both set: keep the one that the layers have")
	}
	if a.MoE != nil && a.MoE.ActiveExperts > a.MoE.Experts {
		return fmt.Errorf("moe.activeExperts is %d and moe.experts %d: a token cannot visit more experts than there are", a.MoE.ActiveExperts, a.MoE.Experts)
	}
	if a.MLP.IntermediateSize == 0 && mixtureLayers(a) < int(a.Layers) {
		return fmt.Errorf("mlp.intermediateSize is 0 and %d of %d layers are dense: set it to the width of their feed-forward block", int(a.Layers)-mixtureLayers(a), a.Layers)
	}
	if n := m.Parameters(); n > MaxParameters {
		return fmt.Errorf("the architecture has %s parameters: set layers, hiddenSize and the widths so that there are at most %d", countText(n), int64(MaxParameters))
	}
	return nil
}

func countText(n int64) string {
	if n == math.MaxInt64 {
		return "more than 2^63"
	}
	return fmt.Sprint(n)
}

// bounds lists every number of an architecture with the bounds of the API's markers.
func bounds(a *v1alpha1.Architecture) []bound {
	list := []bound{
		{"layers", a.Layers, 1, 1024},
		{"hiddenSize", a.HiddenSize, 1, 1 << 20},
		{"vocabSize", a.VocabSize, 1, 1 << 24},
		{"maxContext", a.MaxContext, 0, math.MaxInt32},
		{"positions", a.Positions, 0, 1 << 24},
		{"normsPerLayer", int32(min(norms(a), math.MaxInt32)), 0, 8},
		{"attention.heads", a.Attention.Heads, 1, 1 << 16},
		{"attention.kvHeads", a.Attention.KVHeads, 1, 1 << 16},
		{"attention.headDim", a.Attention.HeadDim, 1, 1 << 16},
		{"attention.slidingWindow", a.Attention.SlidingWindow, 0, math.MaxInt32},
		{"attention.fullAttentionEvery", a.Attention.FullAttentionEvery, 0, 1024},
		{"mlp.intermediateSize", a.MLP.IntermediateSize, 0, 1 << 24},
	}
	if mla := a.Attention.MLA; mla != nil {
		list = append(list,
			bound{"attention.mla.qLoraRank", mla.QLoraRank, 0, 1 << 16},
			bound{"attention.mla.kvLoraRank", mla.KVLoraRank, 1, 1 << 16},
			bound{"attention.mla.qkNopeHeadDim", mla.QKNopeHeadDim, 1, 1 << 16},
			bound{"attention.mla.qkRopeHeadDim", mla.QKRopeHeadDim, 1, 1 << 16},
			bound{"attention.mla.vHeadDim", mla.VHeadDim, 1, 1 << 16})
	}
	if mla := a.Attention.MLA; mla != nil && mla.Indexer != nil {
		list = append(list,
			bound{"attention.mla.indexer.heads", mla.Indexer.Heads, 1, 1 << 16},
			bound{"attention.mla.indexer.headDim", mla.Indexer.HeadDim, 1, 1 << 16},
			bound{"attention.mla.indexer.topK", mla.Indexer.TopK, 1, math.MaxInt32})
	}
	list = append(list, compressedBounds(a.Attention.Compressed)...)
	list = append(list, recurrentBounds(a.Recurrent)...)
	list = append(list, encoderBounds(a.Encoder)...)
	if moe := a.MoE; moe != nil {
		list = append(list,
			bound{"moe.experts", moe.Experts, 1, 1 << 16},
			bound{"moe.activeExperts", moe.ActiveExperts, 1, 1 << 16},
			bound{"moe.intermediateSize", moe.IntermediateSize, 1, 1 << 24},
			bound{"moe.sharedIntermediateSize", moe.SharedIntermediateSize, 0, 1 << 24},
			bound{"moe.firstLayer", moe.FirstLayer, 0, 1024},
			bound{"moe.interval", moe.Interval, 0, 1024})
	}
	return list
}

func compressedBounds(c *v1alpha1.Compressed) []bound {
	if c == nil {
		return nil
	}
	list := []bound{
		{"attention.compressed.qLoraRank", c.QLoraRank, 1, 1 << 16},
		{"attention.compressed.outputGroups", c.OutputGroups, 1, 1 << 16},
		{"attention.compressed.outputLoraRank", c.OutputLoraRank, 1, 1 << 16},
		{"attention.compressed.firstLayer", c.FirstLayer, 0, 1024},
		{"attention.compressed.streams", c.Streams, 0, 64},
		{"attention.compressed.indexer.heads", c.Indexer.Heads, 1, 1 << 16},
		{"attention.compressed.indexer.headDim", c.Indexer.HeadDim, 1, 1 << 16},
		{"the number of attention.compressed.ratios", int32(min(len(c.Ratios), math.MaxInt32)), 1, 4},
	}
	for _, ratio := range c.Ratios {
		list = append(list, bound{"attention.compressed.ratios", ratio, 1, 1 << 20})
	}
	return list
}

func recurrentBounds(r *v1alpha1.Recurrent) []bound {
	if r == nil {
		return nil
	}
	return []bound{
		{"recurrent.keyHeads", r.KeyHeads, 1, 1 << 16},
		{"recurrent.valueHeads", r.ValueHeads, 1, 1 << 16},
		{"recurrent.keyHeadDim", r.KeyHeadDim, 1, 1 << 16},
		{"recurrent.valueHeadDim", r.ValueHeadDim, 1, 1 << 16},
		{"recurrent.convKernel", r.ConvKernel, 0, 1024},
		{"recurrent.attentionEvery", r.AttentionEvery, 0, 1024},
	}
}

func encoderBounds(e *v1alpha1.Encoder) []bound {
	if e == nil {
		return nil
	}
	return []bound{
		{"encoder.layers", e.Layers, 1, 1024},
		{"encoder.heads", e.Heads, 1, 1 << 16},
		{"encoder.intermediateSize", e.IntermediateSize, 1, 1 << 24},
		{"encoder.positions", e.Positions, 1, 1 << 24},
		{"encoder.channels", e.Channels, 1, 1 << 16},
	}
}
