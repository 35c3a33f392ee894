package model

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Draft is a model that drafts tokens for another one.
type Draft struct {
	// Model has its layers.
	Model *Model
	// Weights is the precision that they are stored in; empty means that of the model it drafts for.
	Weights v1alpha1.Precision
	// Tables says that it has an embedding table and a head of its own, instead of those of the model it drafts for.
	Tables bool
	// Modules is how many such models are loaded, where a token is drafted by one of them; 0 means one.
	Modules int64
	// Beside is the number of its weights beside layers and tables, in 16 bits and whole on every rank.
	Beside int64
	// Assumption is what was assumed of it; empty where nothing was.
	Assumption string
}

// draftVocabulary is the words of the head of an EAGLE-3 head: the most frequent ones. Source: draft_vocab_size of
// https://huggingface.co/yuhuili/EAGLE3-LLaMA3.1-Instruct-8B, as of most published ones.
const draftVocabulary = 32000

// Drafter returns what drafts tokens for the model; nil where nothing is loaded for it. The error says what is not known, and what to
// set.
func (m *Model) Drafter(s *v1alpha1.Speculation) (*Draft, error) {
	switch s.Method {
	case v1alpha1.SpeculationMTP:
		return m.nextTokens()
	case v1alpha1.SpeculationEAGLE:
		return m.eagle(s.Parameters)
	case v1alpha1.SpeculationDraft:
		return m.smaller(s)
	default:
		return nil, nil
	}
}

// nextTokens returns the multi-token-prediction module of the checkpoint: a layer like the last one, behind a projection of the stream
// and of the next token's embedding. Engines load all that the checkpoint has, and go through one module for each drafted token.
// Source: DeepSeek-V3, arXiv 2412.19437, section 2.2; https://github.com/NVIDIA/TensorRT-LLM/pull/12341; num_mtp_layers of vLLM's
// deepseek_mtp.py.
func (m *Model) nextTokens() (*Draft, error) {
	if m.NextTokenModules+m.otherModules == 0 {
		return nil, fmt.Errorf("no module for multi-token prediction is known of %s: use Draft, EAGLE or NGram, or give its config.json", m.Name)
	}
	one, hidden := *m, int64(m.Architecture.HiddenSize)
	a := m.Architecture.DeepCopy()
	mixes := isMixture(a, int(a.Layers)-1)
	a.Mixers, a.Blocks = "F", "M"
	if !mixes {
		a.Blocks, a.MoE = "D", nil
	}
	a.Layers, a.OtherParameters, a.Encoder, a.Recurrent = 1, 0, nil, nil
	one.Architecture = *a
	one.Assumptions = nil
	d := &Draft{Model: &one, Modules: int64(m.NextTokenModules + m.otherModules), Beside: 2 * hidden * hidden}
	if d.Modules > 1 {
		d.Assumption = fmt.Sprintf("all %d modules of the checkpoint are loaded, and a token is drafted by one of them; to draft a block by all of them at once (DSpark) engines have a method of their own", d.Modules)
	}
	return d, nil
}

// eagle returns a head of one dense layer whose projections read the stream and an embedding side by side, behind a projection of three
// streams, with a head for the most frequent words. Source: EAGLE-3, arXiv 2503.01840, section 3.
func (m *Model) eagle(parameters int64) (*Draft, error) {
	a, hidden := &m.Architecture, int64(m.Architecture.HiddenSize)
	one := *m
	attention := v1alpha1.Attention{Heads: a.Attention.Heads, KVHeads: a.Attention.KVHeads, HeadDim: a.Attention.HeadDim}
	if a.Attention.MLA != nil {
		attention.Heads, attention.KVHeads, attention.HeadDim = a.Attention.Heads, a.Attention.Heads, int32(max(1, hidden/int64(a.Attention.Heads)))
	}
	width := a.MLP.IntermediateSize
	d := &Draft{Model: &one, Weights: v1alpha1.BF16}
	if width == 0 || a.MoE != nil {
		width = 4 * a.HiddenSize
		d.Assumption = fmt.Sprintf("the EAGLE head's block is counted with %d values: give speculation.parameters where it is known", width)
	}
	one.Architecture = v1alpha1.Architecture{
		Layers: 1, HiddenSize: a.HiddenSize, VocabSize: draftVocabulary, MaxContext: a.MaxContext, Attention: attention,
		MLP: v1alpha1.MLP{IntermediateSize: width, Ungated: a.MLP.Ungated},
	}
	one.storage, one.others, one.Native, one.Assumptions = nil, nil, v1alpha1.BF16, nil
	wider := hidden * int64(attention.HeadDim) * int64(attention.Heads+2*attention.KVHeads)
	d.Beside = wider + 3*hidden*hidden + hidden*min(draftVocabulary, int64(a.VocabSize))
	if parameters > 0 {
		d.Beside, d.Assumption = max(0, parameters-one.layerParameters(0)), ""
	}
	return d, nil
}

// smaller returns a model of the catalogue, or one of which only the number of parameters is known.
func (m *Model) smaller(s *v1alpha1.Speculation) (*Draft, error) {
	if s.Parameters > 0 {
		of, err := FromParameters(s.Parameters)
		if err != nil {
			return nil, err
		}
		return &Draft{Model: of, Weights: of.Native, Tables: true, Assumption: "of the draft model " + s.Model + " " + of.Assumptions[0]}, nil
	}
	of, stored, err := Find(s.Model)
	if err != nil {
		return nil, fmt.Errorf("%w, or give its parameters", err)
	}
	if of.Parameters() >= m.Parameters() {
		return nil, fmt.Errorf("%s is no smaller than %s: use a smaller model with the same tokenizer", of.Name, m.Name)
	}
	return &Draft{Model: of, Weights: stored, Tables: true}, nil
}
