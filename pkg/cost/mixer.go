package cost

import (
	"math"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/model"
)

// mixer is the part of a layer that mixes tokens: attention, or a recurrence that keeps a state for each sequence.
type mixer struct {
	projections linear
	attended    [2]span // of attention
	indexed     span    // what the indexer scores to choose that
	fixed       float64 // tokens of the encoder's output that each token looks at as well
	state       float64 // bytes for a sequence, of a recurrence
	operations  float64 // for a token, of a recurrence
}

// mixerKey identifies a kind of mixer within a model.
type mixerKey struct {
	recurrent     bool
	window, ratio int32
}

func keyOf(m *model.Model, layer int) mixerKey {
	a := &m.Architecture
	if m.LayerKind(layer) == model.RecurrentLayer {
		return mixerKey{recurrent: true}
	}
	key := mixerKey{window: a.Attention.SlidingWindow}
	if every := int(a.Attention.FullAttentionEvery); every > 0 && (layer+1)%every == 0 {
		key.window = 0
	}
	if c := a.Attention.Compressed; m.LayerKind(layer) == model.CompressedLayer {
		key.ratio = c.Ratios[(layer-int(c.FirstLayer))%len(c.Ratios)]
	}
	return key
}

func mixerOf(m *model.Model, layer int, key mixerKey, precisions Precisions) mixer {
	a := &m.Architecture
	x := mixer{projections: linearOf(0, precisions.Linear)}
	l := &x.projections
	switch {
	case key.recurrent:
		l.weights = recurrentWeights(a)
		x.state = float64(m.LayerStateBytesPerRank(layer, 1, precisions.Cache))
		x.operations = recurrentOperations(a.Recurrent)
		return x
	case a.Attention.MLA != nil:
		l.weights, l.copied = latentWeights(a, a.Attention.MLA)
	case a.Attention.Compressed != nil:
		l.weights, l.copied = compressedWeights(a, a.Attention.Compressed, key.ratio)
	default:
		l.weights = headWeights(a)
	}
	if a.Encoder != nil {
		l.weights += headWeights(a)
		x.fixed = float64(a.Encoder.Positions)
	}
	x.attended, x.indexed = spansOf(a, key)
	return x
}

// overlapping is the compression ratio of the layers that have an indexer.
const overlapping = 4

func spansOf(a *v1alpha1.Architecture, key mixerKey) (attended [2]span, indexed span) {
	attended[0] = span{limit: float64(key.window), per: 1, chunked: a.Attention.Chunked}
	ratio := float64(key.ratio)
	switch mla := a.Attention.MLA; {
	case mla != nil && mla.Indexer != nil:
		attended[0].limit = float64(mla.Indexer.TopK)
		indexed = span{per: 1}
	case key.ratio == overlapping:
		attended[1] = span{limit: float64(a.Attention.Compressed.Indexer.TopK) * ratio, per: ratio}
		indexed = span{per: ratio}
	case key.ratio > 0:
		attended[1] = span{per: ratio}
	}
	return attended, indexed
}

// headWeights counts the weights of attention with keys and values for each head or group of heads. A gate of the output is as wide
// as the query.
func headWeights(a *v1alpha1.Architecture) float64 {
	heads, kvHeads := float64(a.Attention.Heads), float64(a.Attention.KVHeads)
	if a.Attention.OutputGate {
		heads += heads / 2
	}
	return 2 * float64(a.HiddenSize) * float64(a.Attention.HeadDim) * (heads + kvHeads)
}

// latentWeights counts the weights of multi-head latent attention; its down-projections and its indexer are on every rank.
func latentWeights(a *v1alpha1.Architecture, mla *v1alpha1.MLA) (split, copied float64) {
	hidden, heads := float64(a.HiddenSize), float64(a.Attention.Heads)
	query := float64(mla.QKNopeHeadDim) + float64(mla.QKRopeHeadDim)
	latent, value := float64(mla.KVLoraRank), float64(mla.VHeadDim)
	copied = hidden * (latent + float64(mla.QKRopeHeadDim))
	split = heads*latent*(float64(mla.QKNopeHeadDim)+value) + heads*value*hidden
	reads := hidden
	if rank := float64(mla.QLoraRank); rank > 0 {
		reads = rank
		copied += hidden * rank
	}
	split += heads * reads * query
	if i := mla.Indexer; i != nil {
		copied += float64(i.HeadDim)*(float64(i.Heads)*reads+hidden) + float64(i.Heads)*hidden
	}
	return split, copied
}

// compressedWeights counts the weights of compressed attention, whose one key head is on every rank, with the weights
// that make vectors of runs of tokens, that select the vectors, and that mix the streams of the residual.
func compressedWeights(a *v1alpha1.Architecture, c *v1alpha1.Compressed, ratio int32) (split, copied float64) {
	hidden, heads, width := float64(a.HiddenSize), float64(a.Attention.Heads), float64(a.Attention.HeadDim)
	rank, low, streams := float64(c.QLoraRank), float64(c.OutputGroups)*float64(c.OutputLoraRank), float64(c.Streams)
	split = heads*width*rank + float64(c.OutputLoraRank)*heads*width + hidden*low
	copied = hidden*(rank+width) + 2*(streams+2)*streams*streams*hidden
	switch {
	case ratio == overlapping:
		index, indexHeads := float64(c.Indexer.HeadDim), float64(c.Indexer.Heads)
		copied += 4*hidden*(width+index) + indexHeads*(index*rank+hidden)
	case ratio > 0:
		copied += 2 * hidden * width
	}
	return split, copied
}

func recurrentWeights(a *v1alpha1.Architecture) float64 {
	r, hidden := a.Recurrent, float64(a.HiddenSize)
	keys := float64(r.KeyHeads) * float64(r.KeyHeadDim)
	values := float64(r.ValueHeads) * float64(r.ValueHeadDim)
	if r.Kind == v1alpha1.Lightning {
		return hidden * (2*keys + 3*values)
	}
	return hidden * (2*keys + 3*values + 2*float64(r.ValueHeads))
}

// recurrentOperations counts two operations to update and two to read each value of the state; the delta rule reads the
// state once more.
func recurrentOperations(r *v1alpha1.Recurrent) float64 {
	state := float64(r.ValueHeads) * float64(r.KeyHeadDim) * float64(r.ValueHeadDim)
	if r.Kind == v1alpha1.Lightning {
		return 4 * state
	}
	return 6 * state
}

func expertsOf(a *v1alpha1.Architecture, format v1alpha1.Precision) experts {
	e := experts{
		count: float64(a.MoE.Experts), active: float64(a.MoE.ActiveExperts), weights: blockWeights(a, a.MoE.IntermediateSize),
		bytes: bytesPer(format), width: widthOf(format),
	}
	e.missed = math.Log1p(-min(1, e.active/e.count))
	return e
}
