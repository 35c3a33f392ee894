package cost

import (
	"cmp"
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
	towers    linear  // encoders of images and sound, with all else outside of the layers
	adapter   linear  // of rank 1, of a layer in the mean
	kernels   float64 // of a layer beside those of layers that were measured, in the mean
	down      float64 // share of a feed-forward block's weights that its last matrix has
	runs      []run
	all       counts // of the layers
}

// run is layers first to end-1, which have the same operators.
type run struct {
	first, end, mixer int
	mixture, bare     bool
}

// maxMixers bounds the kinds of mixers of a model: recurrent ones, and windowed or full attention without compression or
// at one of four ratios.
const maxMixers = 12

// counts says how many layers of each kind there are.
type counts struct {
	mixers               [maxMixers]float64
	bare, dense, mixture float64 // by the feed-forward block
}

// add counts some layers of a run.
func (n *counts) add(r *run, layers int) {
	n.mixers[r.mixer] += float64(layers)
	switch {
	case r.mixture:
		n.mixture += float64(layers)
	case r.bare:
		n.bare += float64(layers)
	default:
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
		head: linearOf(headOf(a), cmp.Or(precisions.Head, v1alpha1.BF16)), down: 1. / 3,
		towers: linear{copied: float64(max(0, a.OtherParameters)), bytes: 2, width: bits16},
	}
	p.kernels = compressedKernels(m)
	if a.MLP.Ungated {
		p.down = 1. / 2
	}
	var forms []run
	for _, layers := range m.LayerRuns(precisions.Linear) {
		if layers.Form == len(forms) {
			forms = append(forms, p.form(m, layers.First, precisions))
		}
		r := forms[layers.Form]
		r.first, r.end = layers.First, layers.End
		p.runs = append(p.runs, r)
	}
	p.all = p.among(0, p.Layers())
	return p
}

// form reads the operators of a layer and returns the kinds that it is of.
func (p *Profile) form(m *model.Model, layer int, precisions Precisions) run {
	work := m.Work(layer)
	block := linearOf(work.Block, precisions.Linear)
	bare := work.Expert == 0 && block.all() == 0
	switch {
	case work.Expert > 0:
		p.shared, p.experts = block, expertsOf(m.Architecture.MoE, work.Expert, precisions.Experts)
	case !bare:
		p.dense = block
	}
	x := mixerOf(m, layer, work.Mixer, precisions)
	at := slices.Index(p.mixers, x)
	if at < 0 {
		at, p.mixers = len(p.mixers), append(p.mixers, x)
	}
	return run{mixer: at, mixture: work.Expert > 0, bare: bare}
}

func headOf(a *v1alpha1.Architecture) model.Matrices {
	if a.NoHead {
		return model.Matrices{}
	}
	return model.Matrices{Split: int64(a.HiddenSize) * int64(a.VocabSize)}
}

// among counts layers first to end-1.
func (p *Profile) among(first, end int) counts {
	var n counts
	for i := range p.runs {
		if r := &p.runs[i]; r.first < end && first < r.end {
			n.add(r, min(r.end, end)-max(r.first, first))
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

func linearOf(weights model.Matrices, format v1alpha1.Precision) linear {
	return linear{weights: float64(weights.Split), copied: float64(weights.Copied), bytes: bytesPer(format), width: widthOf(format)}
}
