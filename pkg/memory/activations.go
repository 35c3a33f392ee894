package memory

import "github.com/rankwright/rankwright/api/v1alpha1"

// activations is what a pass needs while it runs: the tensors that are alive at once in the widest part of a layer, or
// the sampler with the step's hidden states beside it, whichever is more.
type activations struct {
	tokens, sequences, hidden, vocabulary int64
	// kept is how many values of the hidden size are alive at once for each token, wide the most values of a token on a
	// rank in the widest part of a layer.
	kept, wide int64
	element    int64
	slack      int64
	// sampler is what the sampler holds for each sequence and word of the vocabulary, in hundredths of a byte.
	sampler int64
	// drafted is the drafted tokens of each sequence, which are sampled beside its next one. media is the tokens that encoders of images
	// and sound keep for the language model: those of a step, or of one that is larger.
	drafted, media int64
}

// keptWidths is how many values of the hidden size are alive for each token beside the widest part: residual, normed
// input, output, and one being written. A residual of several streams is alive whole, and so is the one being written.
const keptWidths = 4

func widthsKept(a *v1alpha1.Architecture) int64 {
	if c := a.Attention.Compressed; c != nil && c.Streams > 1 {
		return keptWidths + 2*(int64(c.Streams)-1)
	}
	return keptWidths
}

func activationsOf(s *Setup, c *Counter) activations {
	a := &s.Model.Architecture
	act := activations{
		tokens: ceil(s.Inference.BatchedTokens, int64(s.Layout.Context)), sequences: s.Inference.BatchedSequences,
		hidden: int64(a.HiddenSize), vocabulary: int64(a.VocabSize),
		kept: widthsKept(a), wide: widest(s, c), element: plainBytes(s.Weights), slack: c.engine.Slack, sampler: c.engine.Sampler,
	}
	act.drafted = s.Inference.Drafted
	if s.Inference.MediaTokens > 0 {
		act.media = max(s.Inference.MediaTokens, s.Inference.BatchedTokens)
	}
	if act.sampler == 0 {
		act.sampler = c.constants.SamplerCentibytes
	}
	return act
}

// widest returns the most values that a token has at once inside a part of a layer on a rank: keys, values, queries and
// output of attention; gate, up projection and their product; or these three for the experts that it visits, with their
// outputs.
func widest(s *Setup, c *Counter) int64 {
	a, tensor := &s.Model.Architecture, int64(s.Layout.Tensor)
	heads := int64(a.Attention.Heads)
	attention := 2 * (heads + int64(a.Attention.KVHeads)) * int64(a.Attention.HeadDim)
	if w := a.Attention.Windowed; w != nil {
		attention = max(attention, 2*(int64(w.Heads)+int64(w.KVHeads))*int64(w.HeadDim))
	}
	if mla := a.Attention.MLA; mla != nil {
		attention = 2 * heads * (int64(mla.QKNopeHeadDim) + int64(mla.QKRopeHeadDim) + int64(mla.VHeadDim))
	}
	width := max(ceil(attention, tensor), ceil(3*int64(a.MLP.IntermediateSize), tensor))
	if a.MoE == nil {
		return width
	}
	width = max(width, ceil(3*int64(a.MoE.SharedIntermediateSize), tensor))
	w := c.weights(s)
	e := w.share()
	routed := int64(a.MoE.ActiveExperts) * (3*e.width + e.hidden)
	// The tokens of all attention groups and context ranks come together at the experts, which the groups of experts share.
	return max(width, ceil(routed*int64(s.Layout.AttentionData)*int64(s.Layout.Context), int64(s.Layout.Expert)))
}

// forward returns the bytes of the pass through the layers.
func (a *activations) forward() int64 {
	return part(times(a.tokens, a.element, a.kept*a.hidden+a.wide), 100+a.slack, 100)
}

// sampling returns what the last stage needs to choose the next tokens: the step's hidden states, and the sampler's
// tensors over the whole vocabulary, which every tensor rank gathers.
func (a *activations) sampling() int64 {
	return bounded(times(a.tokens, a.hidden, a.element) + part(times(a.sequences, a.vocabulary), a.sampler+a.drafted*a.verified(), 100))
}

// verifying is what a drafted token takes for each word while it is verified, in hundredths of a byte: its logit in 16 bits, a copy in 32
// bits, and a probability. Source: vllm/v1/sample/rejection_sampler.py, which sorts none of them.
const verifying = 1000

// verified returns what each drafted token of a sequence takes for each word, which is no more than the sampler does.
func (a *activations) verified() int64 { return min(a.sampler, verifying) }

// encoded returns the bytes of what encoders keep for the language model. Source: vLLM's encoder cache, whose budget is the larger of a
// step's tokens and those of the largest item (vllm/v1/core/encoder_cache_manager.py, compute_encoder_budget).
func (a *activations) encoded() int64 { return times(a.media, a.hidden, a.element) }

// stage returns what a stage needs; the first stage has the encoders, the last one the head.
func (a *activations) stage(first, last bool) int64 {
	bytes := a.forward()
	if last {
		bytes = max(bytes, a.sampling())
	}
	if first {
		bytes = bounded(bytes + a.encoded())
	}
	return bytes
}
