package cost

import (
	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/model"
)

// Class is a kind of model that shares constants.
type Class string

// The classes. A mixture with latent attention is Latent, one with recurrent layers Recurrent.
const (
	Dense     Class = "dense"
	Mixture   Class = "MoE"
	Latent    Class = "MLA"
	Recurrent Class = "recurrent"
)

// Profile is what the cost of a step is computed from: the operators of a model in certain precisions. It is made once
// for a model and is not changed afterwards.
type Profile struct {
	class  Class
	layers float64
	hidden float64
	vocab  float64

	attention attention
	recurrent recurrence
	dense     linear // feed-forward block of a layer that is no mixture
	shared    linear // shared experts of a mixture
	experts   experts
	head      linear
	precision Precisions
}

// linear is a matrix of weights that every token visits.
type linear struct {
	layers  float64 // how many layers have one
	weights float64 // weights of a layer that tensor ranks share out
	copied  float64 // weights of a layer that every tensor rank holds
	bytes   float64 // bytes per weight
	format  v1alpha1.Precision
}

// attention is what the layers with a cache do.
type attention struct {
	projections linear
	layers      float64 // layers that look at the whole context
	windowed    float64 // layers that look back window tokens
	window      float64
	heads       float64
	kvHeads     float64
	cached      float64 // values cached for a token and key head; a latent counts as one head
	latent      bool
	decode      float64 // operations for a query head, token and cached token while decoding
	prefill     float64 // the same in prefill
	bytes       float64 // bytes per cached value
}

// recurrence is what the layers do that keep a state of fixed size for each sequence.
type recurrence struct {
	projections linear
	state       float64 // bytes for a sequence and layer
	operations  float64 // for a token and layer
}

// experts are the routed experts of the mixtures.
type experts struct {
	layers  float64
	count   float64
	active  float64
	weights float64 // of one expert
	bytes   float64
	format  v1alpha1.Precision
}

// RecurrentLayers says that of a model's layers only every so manieth has a cache and the others keep a state, as gated
// delta networks do.
type RecurrentLayers struct {
	// FullAttentionEvery is the period of the layers with a cache.
	FullAttentionEvery int
	// Weights are those of a recurrent layer's projections, AttentionWeights those of the other layers' where they differ
	// from what the architecture says (an output gate), 0 where they do not.
	Weights, AttentionWeights int64
	// StateBytes is what a sequence keeps for a layer.
	StateBytes int64
}

// NewProfile reads the operators of a model.
func NewProfile(m *model.Model, precisions Precisions) *Profile {
	a := &m.Architecture
	p := &Profile{
		class: Dense, layers: float64(a.Layers), hidden: float64(a.HiddenSize), vocab: float64(a.VocabSize), precision: precisions,
	}
	p.attention = headAttention(a)
	if mla := a.Attention.MLA; mla != nil {
		p.attention = latentAttention(a, mla)
	}
	p.attention.bytes = bytesPer(precisions.Cache)
	mixtures := 0.0
	if a.MoE != nil {
		p.class = Mixture
		mixtures = mixtureLayers(a)
		p.experts = experts{
			layers: mixtures, count: float64(a.MoE.Experts), active: float64(a.MoE.ActiveExperts),
			weights: matrices(a) * p.hidden * float64(a.MoE.IntermediateSize),
			bytes:   bytesPer(precisions.Experts), format: precisions.Experts,
		}
		p.shared = p.linear(mixtures, matrices(a)*p.hidden*float64(a.MoE.SharedIntermediateSize), precisions.Linear)
		if a.Attention.MLA != nil {
			p.class = Latent
		}
	}
	p.dense = p.linear(p.layers-mixtures, matrices(a)*p.hidden*float64(a.MLP.IntermediateSize), precisions.Linear)
	p.attention.projections.layers = p.layers
	p.attention.projections.bytes, p.attention.projections.format = bytesPer(precisions.Linear), precisions.Linear
	p.head = linear{layers: 1, weights: p.hidden * p.vocab, bytes: 2, format: v1alpha1.BF16}
	return p
}

// WithRecurrent returns the profile of the same model with recurrent layers among its layers.
func (p *Profile) WithRecurrent(r RecurrentLayers) *Profile {
	q := *p
	if r.FullAttentionEvery < 1 {
		return &q
	}
	full := float64(int(p.layers) / r.FullAttentionEvery)
	q.class = Recurrent
	q.attention.layers, q.attention.windowed = full, 0
	q.attention.projections.layers = full
	if r.AttentionWeights > 0 {
		q.attention.projections.weights = float64(r.AttentionWeights)
	}
	q.recurrent = recurrence{
		projections: p.linear(p.layers-full, float64(r.Weights), p.precision.Linear),
		state:       float64(r.StateBytes),
		operations:  float64(r.StateBytes), // 4 operations for each value of the state, of 4 bytes
	}
	return &q
}

// Class is the class of models that the profile's constants are those of.
func (p *Profile) Class() Class { return p.class }

func (p *Profile) linear(layers, weights float64, format v1alpha1.Precision) linear {
	return linear{layers: layers, weights: weights, bytes: bytesPer(format), format: format}
}

// matrices is how many matrices a feed-forward block has: a gate is one more.
func matrices(a *v1alpha1.Architecture) float64 {
	if a.MLP.Ungated {
		return 2
	}
	return 3
}

// mixtureLayers counts the layers that are mixtures of experts.
func mixtureLayers(a *v1alpha1.Architecture) float64 {
	every := max(1, a.MoE.Interval)
	return float64(max(0, (a.Layers-a.MoE.FirstLayer+every-1)/every))
}

// headAttention is attention with keys and values for each head or group of heads.
func headAttention(a *v1alpha1.Architecture) attention {
	width := float64(a.Attention.HeadDim)
	hidden, heads, kvHeads := float64(a.HiddenSize), float64(a.Attention.Heads), float64(a.Attention.KVHeads)
	at := attention{
		projections: linear{weights: 2 * hidden * width * (heads + kvHeads)},
		layers:      float64(a.Layers), heads: heads, kvHeads: max(1, kvHeads), cached: 2 * width,
		decode: 4 * width, prefill: 4 * width,
	}
	if a.Attention.SlidingWindow > 0 {
		full := 0.0
		if a.Attention.FullAttentionEvery > 0 {
			full = float64(a.Layers / a.Attention.FullAttentionEvery)
		}
		at.windowed, at.layers, at.window = at.layers-full, full, float64(a.Attention.SlidingWindow)
	}
	return at
}

// latentAttention is multi-head latent attention: prefill expands the latent to heads, decoding folds the expansion into
// the queries and computes on the latent itself.
func latentAttention(a *v1alpha1.Architecture, mla *v1alpha1.MLA) attention {
	hidden, heads := float64(a.HiddenSize), float64(a.Attention.Heads)
	query := float64(mla.QKNopeHeadDim) + float64(mla.QKRopeHeadDim)
	latent, rope, value := float64(mla.KVLoraRank), float64(mla.QKRopeHeadDim), float64(mla.VHeadDim)
	copied, split := hidden*(latent+rope), heads*latent*(float64(mla.QKNopeHeadDim)+value)+heads*value*hidden
	if rank := float64(mla.QLoraRank); rank > 0 {
		copied, split = copied+hidden*rank, split+heads*rank*query
	} else {
		split += heads * hidden * query
	}
	return attention{
		projections: linear{weights: split, copied: copied},
		layers:      float64(a.Layers), heads: heads, kvHeads: 1, cached: latent + rope, latent: true,
		decode: 2 * (2*latent + rope), prefill: 2 * (query + value),
	}
}
