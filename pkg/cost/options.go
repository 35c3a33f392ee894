package cost

import (
	"math"

	"github.com/rankwright/rankwright/pkg/model"
)

// Options are what a server does beside reading prompts and decoding token by token. The zero value is nothing.
type Options struct {
	// Found is the tokens of a prompt that are in the cache already, and are not computed. They are attended to like others.
	Found float64
	// Returned is the tokens of a request that are copied from the memory of the host to the devices, at HostRate bytes per second to each.
	Returned, HostRate float64
	// Drafted is how many tokens are drafted for each sequence in a step, Acceptance how often one is accepted where those before it were.
	// Draft are the operators of what drafts, which goes through them once for each token; nil where that takes no time of the devices.
	Drafted, Acceptance float64
	Draft               *Profile
	// Adapters is how many LoRA adapters a step uses at most, AdapterRank their rank.
	Adapters, AdapterRank float64
	// Patches is how many vectors of images and sound the encoders of a multimodal model read for a request.
	Patches float64
}

// adapterKernels is how many kernels adapters take in a layer more: one that shrinks and one that expands, for each of the projections
// in and out of attention and of the block (Punica, arXiv 2310.18547). layerKernels is about how many a layer has without them, which
// take LayerSeconds to start: two norms, these four, rotation, cache, attention and activation.
const adapterKernels, layerKernels = 8, 10

// Read is the tokens of a prompt that are computed.
func (w *Workload) Read() float64 { return max(1, w.Input-w.Found) }

// Accepted is the tokens that a step gives each sequence: its own, and of k drafted ones those before the first that is refused,
// (1 - a^(k+1)) / (1 - a) in the mean. Source: Leviathan, Kalman and Matias, Fast Inference from Transformers via Speculative Decoding
// (2023), equation 1.
func (w *Workload) Accepted() float64 {
	k, a := w.Drafted, w.Acceptance
	switch {
	case k <= 0:
		return 1
	case a >= 1:
		return k + 1
	default:
		return (1 - math.Pow(a, k+1)) / (1 - a)
	}
}

// Turns is the steps in which an answer is written.
func (w *Workload) Turns() float64 {
	if w.Drafted <= 0 {
		return w.Output
	}
	return max(1, w.Output/w.Accepted())
}

// WithAdapters returns the profile of a model with LoRA adapters beside its layers; routed experts have none.
func (p *Profile) WithAdapters(m *model.Model) *Profile {
	own, l := *p, linear{bytes: 2, width: bits16}
	for _, run := range m.LayerRuns(m.Native) {
		n, w := float64(run.End-run.First), m.Adapter(run.First).Layer
		l.weights, l.copied = l.weights+n*float64(w.Split), l.copied+n*float64(w.Copied)
	}
	layers := float64(max(1, m.Architecture.Layers))
	l.weights, l.copied = l.weights/layers, l.copied/layers
	own.adapter = l
	return &own
}

// WithDraft returns the operators of what drafts tokens for a model of the profile, in which weights are stored in some precisions. What
// has no tables of its own uses those of the model.
func (p *Profile) WithDraft(d *model.Draft, precisions Precisions) *Profile {
	own := NewProfile(d.Model, precisions)
	if !d.Tables {
		own.head = linear{copied: float64(d.Beside), bytes: 2, width: bits16}
		if d.Weights == "" { // it hands on to the model's head
			own.head.weights = p.head.weights
		}
	}
	return own
}

// adapted returns what adapters take of a layer in addition. Each is read once, and a token goes through one.
func (s *stepper) adapted(sequences, tokens float64) float64 {
	if s.adapters <= 0 || tokens == 0 {
		return 0
	}
	l := s.p.adapter
	used := min(s.adapters, max(1, sequences))
	weights := (l.weights/s.tensor + l.copied) * s.adapterRank
	return soft(used*weights*l.bytes/s.read, 2*weights*tokens/s.compute[l.width]) + adapterKernels/float64(layerKernels)*s.c[LayerSeconds]
}

// drafting returns what it takes the devices to draft the tokens that a batch verifies: a pass for each, the first of which reads the
// prompts too.
func (s *instance) drafting(b *batch) float64 {
	if s.draft == nil {
		return 0
	}
	each := *b
	each.drafted, each.patches = 0, 0
	seconds := s.draft.whole(&each)
	if b.sequences > 0 && s.drafts > 1 {
		each.prompt, each.finished = 0, 0
		seconds += (s.drafts - 1) * s.draft.whole(&each)
	}
	return seconds
}

// whole returns the seconds of a batch in all layers.
func (s *stepper) whole(b *batch) float64 {
	t := s.times(*b)
	return t.layers(s.p.whole(), len(s.p.mixers)) + t.head
}

// tokenBytes returns the bytes of cache that each rank has of a token of a whole context.
func (s *stepper) tokenBytes() float64 {
	a, sum := &s.p.attention, 0.0
	for i := range s.p.mixers {
		for _, of := range s.p.mixers[i].attended {
			if of.per > 0 && of.limit == 0 {
				sum += s.p.all.mixers[i] / of.per
			}
		}
	}
	return sum * max(1, a.kvHeads/s.tensor) * a.cached * a.bytes / s.stages
}

// returning returns the seconds in which what a request needs of the host's memory is copied to its devices; 0 where it needs nothing.
func (s *instance) returning(w *Workload) float64 {
	if w.Returned <= 0 || w.HostRate <= 0 {
		return 0
	}
	return w.Returned * s.tokenBytes() / w.HostRate
}

// unmeasured says what of the options no measurement has; empty where nothing of them is used.
func (o *Options) unmeasured() string {
	switch {
	case o.Drafted > 0:
		return "drafted tokens"
	case o.Adapters > 0:
		return "adapters"
	case o.Found > 0 || o.Returned > 0:
		return "prompts that are found in the cache"
	case o.Patches > 0:
		return "images or sound"
	default:
		return ""
	}
}
