package cost

import (
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/model"
)

// Class is a kind of model whose members share constants.
type Class string

// The classes. Latent is a mixture with latent attention, Recurrent any model with recurrent layers.
const (
	Dense     Class = "dense"
	Mixture   Class = "MoE"
	Latent    Class = "MLA"
	Recurrent Class = "recurrent"
)

// Profile is what the cost of a step is computed from: the operators of a model in certain precisions. It is made once
// for a model and never changed.
type Profile struct {
	class  Class
	layers float64
	hidden float64

	attention attention
	mixers    []mixer // kinds of layers by what mixes tokens
	dense     linear  // feed-forward block of a layer that is no mixture
	shared    linear  // router and shared experts of a mixture
	experts   experts
	head      linear
	encoder   encoder
	runs      []run
	all       counts // of the layers
}

// run is layers first to end-1, which have the same operators.
type run struct {
	first, end, mixer int
	mixture           bool
}

// maxMixers bounds the kinds of mixers of a model: recurrent ones, and windowed or full attention without compression or
// at one of four ratios.
const maxMixers = 12

// counts says how many layers of each kind there are.
type counts struct {
	mixers         [maxMixers]float64
	dense, mixture float64
}

// add counts some layers of a run.
func (n *counts) add(r *run, layers int) {
	n.mixers[r.mixer] += float64(layers)
	if r.mixture {
		n.mixture += float64(layers)
	} else {
		n.dense += float64(layers)
	}
}

// linear is a matrix of weights that every token visits.
type linear struct {
	weights float64 // of a layer that tensor ranks share out
	copied  float64 // of a layer that every tensor rank holds
	bytes   float64 // per weight
	width   width   // that it is computed in where the device can
}

func (l *linear) all() float64 { return l.weights + l.copied }

// experts are the routed experts of the mixtures.
type experts struct {
	count   float64
	active  float64
	weights float64 // of one expert
	bytes   float64
	width   width
	missed  float64 // logarithm of the share of experts that one token does not visit
}

// NewProfile reads the operators of a model.
func NewProfile(m *model.Model, precisions Precisions) *Profile {
	a := &m.Architecture
	p := &Profile{
		class: classOf(a), layers: float64(a.Layers), hidden: float64(a.HiddenSize),
		attention: attentionOf(a, precisions.Cache), encoder: encoderOf(m),
		dense: linearOf(blockWeights(a, a.MLP.IntermediateSize), precisions.Linear),
		head:  linearOf(float64(a.HiddenSize)*float64(a.VocabSize), v1alpha1.BF16),
	}
	if a.MoE != nil {
		p.shared = linearOf(blockWeights(a, a.MoE.SharedIntermediateSize), precisions.Linear)
		p.shared.copied = float64(a.HiddenSize) * float64(a.MoE.Experts)
		p.experts = expertsOf(a, precisions.Experts)
	}
	p.count(m, precisions)
	return p
}

// count sorts the layers into kinds.
func (p *Profile) count(m *model.Model, precisions Precisions) {
	alike := m.LayerRuns(precisions.Linear)
	p.runs = make([]run, len(alike))
	keys := make([]mixerKey, 0, maxMixers)
	for i, layers := range alike {
		key := keyOf(m, layers.First)
		at := slices.Index(keys, key)
		if at < 0 && len(keys) < maxMixers {
			at, keys = len(keys), append(keys, key)
			p.mixers = append(p.mixers, mixerOf(m, layers.First, key, precisions))
		}
		p.runs[i] = run{first: layers.First, end: layers.End, mixer: max(0, at), mixture: isMixture(&m.Architecture, layers.First)}
	}
	p.all = p.before(p.Layers())
}

// before counts the layers before an index.
func (p *Profile) before(layer int) counts {
	var n counts
	for i := range p.runs {
		if r := &p.runs[i]; r.first < layer {
			n.add(r, min(r.end, layer)-r.first)
		}
	}
	return n
}

// Class returns the class of models whose constants apply to the profile.
func (p *Profile) Class() Class { return p.class }

// Layers returns the number of layers of the model.
func (p *Profile) Layers() int { return int(p.layers) }

// whole counts all layers.
func (p *Profile) whole() *counts { return &p.all }

func classOf(a *v1alpha1.Architecture) Class {
	switch {
	case a.Recurrent != nil:
		return Recurrent
	case a.Attention.MLA != nil || a.Attention.Compressed != nil:
		return Latent
	case a.MoE != nil:
		return Mixture
	default:
		return Dense
	}
}

func linearOf(weights float64, format v1alpha1.Precision) linear {
	return linear{weights: weights, bytes: bytesPer(format), width: widthOf(format)}
}

// blockWeights counts the weights of a feed-forward block, which has a third matrix where it is gated.
func blockWeights(a *v1alpha1.Architecture, intermediate int32) float64 {
	matrices := 3.0
	if a.MLP.Ungated {
		matrices = 2
	}
	return matrices * float64(a.HiddenSize) * float64(intermediate)
}

func isMixture(a *v1alpha1.Architecture, layer int) bool {
	return a.MoE != nil && layer >= int(a.MoE.FirstLayer) && (layer-int(a.MoE.FirstLayer))%max(1, int(a.MoE.Interval)) == 0
}
