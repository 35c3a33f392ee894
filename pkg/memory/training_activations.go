package memory

import (
	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/model"
)

// What training keeps for the backward pass is counted tensor by tensor, as in Korthikanti et al., Reducing Activation Recomputation in Large
// Transformer Models, section 4.1, without what today's programs do not keep: the scores of attention, which its kernels compute again
// (FlashAttention), and the masks of dropout, which models are trained without.
const (
	// streams is how many values of the hidden size a layer keeps beside its attention and its feed-forward block: the inputs of both norms, and
	// what these give to the matrices.
	streams = 4
	// lossBytes is what the loss holds of each word of the vocabulary for a token: 32-bit logits and their gradient.
	lossBytes = 8
	// maxVirtual bounds the runs of layers of a stage.
	maxVirtual = 256
)

// tokens returns the number of tokens of a sequence that a rank has.
func (t *training) tokens() int64 {
	return ceil(int64(t.setup.Training.SequenceLength), int64(t.setup.Layout.Context))
}

// passTokens returns the number of tokens of a micro-batch on a rank.
func (t *training) passTokens() int64 {
	return times(max(1, int64(t.setup.Training.MicroBatch)), t.tokens())
}

// inFlight returns how many runs of layers of the first stage are alive at once, each with a micro-batch, and how many runs the stage
// has: with one forward and one backward pass in turn, as many micro-batches as there are stages, and in an interleaved pipeline
// stages - 1 runs more than all of them (Korthikanti et al., section 4.2.3).
func (t *training) inFlight() (alive, runs int64) {
	load, layout := t.setup.Training, t.setup.Layout
	steps := max(1, int64(load.GlobalBatch)/(max(1, int64(load.MicroBatch))*int64(layout.Data)))
	stages, runs := int64(layout.Pipeline), int64(load.Virtual())
	if stages == 1 {
		return 1, 1
	}
	if runs > 1 {
		return min(stages*runs+stages-1, steps*runs), runs
	}
	return min(stages, steps), 1
}

// values are what a layer keeps for each token, in values on a rank.
type values struct {
	// stream is kept by every tensor rank whole, but where they share out the tokens.
	stream, attention, feedForward int64
}

// valuesOf counts what a layer keeps.
func (t *training) valuesOf(layer int) values {
	m, tensor := t.setup.Model, int64(t.setup.Layout.Tensor)
	hidden := int64(m.Architecture.HiddenSize)
	return values{streams*hidden - t.spared(2*hidden), t.mixing(layer, tensor), t.feeding(layer, tensor)}
}

// spared returns what some values that are the inputs of matrices take less where the engine keeps them as they are multiplied: half in FP8.
func (t *training) spared(inputs int64) int64 {
	if t.keepsEights {
		return inputs / 2
	}
	return 0
}

// mixing counts queries, keys, values and output of attention, or what a recurrence has in their place with its gate.
func (t *training) mixing(layer int, tensor int64) int64 {
	a := &t.setup.Model.Architecture
	heads := ceil(int64(a.Attention.Heads), tensor)
	if r := a.Recurrent; r != nil && t.setup.Model.LayerKind(layer) == model.RecurrentLayer {
		return ceil(2*int64(r.KeyHeads)*int64(r.KeyHeadDim)+3*int64(r.ValueHeads)*int64(r.ValueHeadDim), tensor)
	}
	if mla := a.Attention.MLA; mla != nil {
		latents := int64(mla.QLoraRank) + int64(mla.KVLoraRank) + int64(mla.QKRopeHeadDim)
		return latents + 2*heads*(int64(mla.QKNopeHeadDim)+int64(mla.QKRopeHeadDim)+int64(mla.VHeadDim))
	}
	return 2 * (heads + ceil(max(1, int64(a.Attention.KVHeads)), tensor)) * int64(a.Attention.HeadDim)
}

// feeding counts the inner values of a feed-forward block: gate, up projection and their product, or without a gate the activation's input
// and output. A token is given to each of its experts and comes back from it, and the experts of a stage are shared out evenly.
func (t *training) feeding(layer int, tensor int64) int64 {
	m := t.setup.Model
	a := &m.Architecture
	inner := int64(3)
	if a.MLP.Ungated {
		inner = 2
	}
	of := func(width int32) int64 { return ceil(inner*int64(width)-t.spared(int64(width)), tensor) }
	if a.MoE == nil || m.Work(layer).Expert == 0 {
		return of(a.MLP.IntermediateSize)
	}
	given := int64(a.HiddenSize)
	return int64(a.MoE.ActiveExperts)*(2*given-t.spared(given)+of(a.MoE.IntermediateSize)) + of(a.MoE.SharedIntermediateSize)
}

// bytes of some values on a rank; the stream is shared out by tensor ranks that share out tokens.
func (t *training) bytes(stream, own int64) int64 {
	scale := plainBytes(t.setup.Weights)
	if t.sharesTokens {
		stream = ceil(stream, int64(t.setup.Layout.Tensor))
	}
	return times(t.passTokens(), scale, stream+own)
}

// alive returns what is alive of a layer between its forward and its backward pass where nothing is computed again.
func (t *training) alive(layer int) int64 {
	v := t.valuesOf(layer)
	return t.bytes(v.stream, v.attention+v.feedForward)
}

// kept returns what a layer keeps of a micro-batch: all, or without the feed-forward block, or its input alone.
func (t *training) kept(layer int) int64 {
	v := t.valuesOf(layer)
	switch t.setup.Training.Recomputes() {
	case v1alpha1.RecomputeFull:
		return t.bytes(int64(t.setup.Model.Architecture.HiddenSize), 0)
	case v1alpha1.RecomputeSelective:
		return t.bytes(v.stream, v.attention)
	default:
		return t.alive(layer)
	}
}

// keptInFlight returns what a layer keeps of all micro-batches in flight.
func (t *training) keptInFlight(layer int) int64 {
	alive, runs := t.inFlight()
	return part(t.kept(layer), alive, runs)
}
