package memory

import (
	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/model"
)

// expertWidths and expertHidden are what vLLM's MXFP4 kernels round the sizes of an expert's matrices up to on each rank
// (GPT-OSS: hidden 2880 becomes 3072). Source: vLLM's Mxfp4MoEMethod.create_weights and the 13.47 GiB that it reports for
// GPT-OSS-20B on an H100; Marlin on older devices rounds widths to 128 and comes to 13.72 GiB.
const (
	expertWidths = 64
	expertHidden = 256
)

// weights counts the weights that a rank holds of each layer.
type weights struct {
	model     *model.Model
	rest      *model.Model // without routed experts
	precision v1alpha1.Precision
	layout    Layout
	training  bool
	pads      bool
}

// weights returns the counter of a setup's weights in its layout.
func (c *Counter) weights(s *Setup) weights {
	return weights{model: s.Model, rest: c.rest, precision: s.Weights, layout: s.Layout, training: s.Training != nil, pads: c.engine.PadsExperts}
}

// withoutExperts returns a model without its routed experts, which are shared out in another way; a model without any is
// returned as it is.
func withoutExperts(m *model.Model) *model.Model {
	if m.Architecture.MoE == nil {
		return m
	}
	rest, moe := *m, *m.Architecture.MoE
	moe.IntermediateSize, rest.Architecture.MoE = 0, &moe
	return &rest
}

// layer returns the bytes that a rank holds of a layer without routed experts.
func (w *weights) layer(layer int) int64 {
	return bounded(w.rest.LayerWeightBytesPerRank(layer, w.layout.Tensor, w.precision))
}

// experts returns the bytes that a rank holds of a layer's routed experts; 0 in a dense layer.
func (w *weights) experts(layer int) int64 { return w.shareOf(w.stored(layer)) }

// shareOf returns a rank's bytes of routed experts that take some bytes in the checkpoint.
func (w *weights) shareOf(stored int64) int64 {
	if stored == 0 {
		return 0
	}
	e := w.share()
	if !w.padded() {
		return bounded(part(stored, times(e.count, e.width), w.parts()))
	}
	num, den := model.BytesPer(w.precision)
	bytes := part(times(e.count, e.matrices, e.hidden, e.width), num, den)
	if w.model.Architecture.MoE.ExpertBias {
		bytes += times(e.count, e.matrices-1, e.width, plainBytes(w.precision))
	}
	return bounded(bytes)
}

// stored returns the bytes of a layer's routed experts in the checkpoint; 0 in a dense layer.
func (w *weights) stored(layer int) int64 {
	if w.rest == w.model {
		return 0
	}
	return w.model.LayerWeightBytes(layer, w.precision) - w.rest.LayerWeightBytes(layer, w.precision)
}

// parts is how many experts of width 1 a layer has.
func (w *weights) parts() int64 {
	moe := w.model.Architecture.MoE
	return max(1, times(int64(moe.Experts), int64(moe.IntermediateSize)))
}

// padded says whether the kernels store experts in larger matrices.
func (w *weights) padded() bool { return w.pads && w.precision == v1alpha1.MXFP4 }

// expertShare is a rank's part of a layer's experts.
type expertShare struct{ count, matrices, hidden, width int64 }

func (w *weights) share() expertShare {
	a := &w.model.Architecture
	groups := int64(w.layout.Expert)
	split := int64(w.layout.sharing(w.training)) / groups
	if w.layout.apart(w.training) {
		// The groups are among the data ranks, and tensor ranks share the width.
		split = int64(w.layout.Tensor)
	}
	e := expertShare{
		count: ceil(int64(a.MoE.Experts), groups), matrices: 3, hidden: int64(a.HiddenSize),
		width: ceil(int64(a.MoE.IntermediateSize), max(1, split)),
	}
	if a.MLP.Ungated {
		e.matrices = 2
	}
	if w.padded() {
		e.hidden, e.width = roundUp(e.hidden, expertHidden), roundUp(e.width, expertWidths)
	}
	return e
}

// plainBytes returns the bytes of a value that keeps at least 16 bits.
func plainBytes(p v1alpha1.Precision) int64 {
	if p == v1alpha1.FP32 {
		return 4
	}
	return 2
}
