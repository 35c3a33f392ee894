package memory

import (
	"cmp"
	"fmt"

	"github.com/rankwright/rankwright/pkg/model"
)

// drafter is what the last stage holds of a draft model: its weights, and of a sequence's cache what sums and held are of the model.
type drafter struct{ weights, cache, mean, deviation int64 }

// draftCounter prepares to count what drafts tokens in a setup; nil where nothing is loaded for it. Its tokens are those of the model.
func draftCounter(s *Setup, fit constants) (*Counter, error) {
	d := s.Draft
	if d == nil || s.Inference == nil {
		return nil, nil
	}
	in := *s.Inference
	in.Shared, in.AdapterSlots, in.Drafted, in.MediaTokens = 0, 0, 0, 0
	own, err := newCounter(Setup{Model: d.Model, Engine: s.Engine, EngineVersion: s.EngineVersion, Weights: cmp.Or(d.Weights, s.Weights), KV: s.KV, Inference: &in}, fit)
	if err != nil {
		return nil, fmt.Errorf("draft model: %w", err)
	}
	return own, nil
}

// countDraft counts what drafts tokens in the footprint's layout, in which its experts are shared out as the model's are.
func (f *Footprint) countDraft() error {
	d := f.setup.Draft
	if f.counter.draft == nil {
		return nil
	}
	l := f.setup.Layout
	l.Pipeline, l.DecodeContext = 1, 1
	if d.Model.Architecture.MoE == nil {
		l.Expert = 1
	}
	own, err := f.counter.draft.Footprint(l, f.inference.BatchedTokens, f.inference.BatchedSequences, Device{})
	if err != nil {
		return fmt.Errorf("draft model: %w", err)
	}
	all, modules := own.layers, max(1, d.Modules)
	f.draft = drafter{
		weights: times(modules, own.weights.of(0, all)+own.experts.of(0, all)+times(2, d.Beside)),
		cache:   times(modules, own.cache.of(0, all)), mean: times(modules, own.mean.of(0, all)), deviation: times(modules, own.deviation.of(0, all)),
	}
	if d.Tables {
		f.draft.weights = bounded(f.draft.weights + own.quick.weights[3])
	}
	return nil
}

// countAdapters counts the room for adapters, which are in 16 bits. Routed experts have some where the engine makes room in them: each
// rank for those of its experts.
func (f *Footprint) countAdapters() {
	in := &f.inference
	if f.setup.Inference == nil || in.AdapterSlots == 0 {
		return
	}
	w, forms := f.counter.weights(&f.setup), make([]amounts, 0, len(f.counter.forms))
	for _, of := range f.counter.forms {
		forms = append(forms, amounts{inWeights: times(in.AdapterSlots, 2, in.AdapterRank, f.adapter(&w, of.layer))})
	}
	f.adapters = f.sum(forms, inWeights)
}

// adapter returns the weights of an adapter of rank 1 in a layer on a device.
func (f *Footprint) adapter(w *weights, layer int) int64 {
	of, tensor := f.setup.Model.Adapter(layer), int64(f.setup.Layout.Tensor)
	n := ceil(of.Layer.Split, tensor) + of.Layer.Copied
	if f.counter.expertAdapters && of.Expert != (model.Matrices{}) {
		e, whole := w.share(), max(1, int64(f.setup.Model.Architecture.MoE.IntermediateSize))
		n += times(e.count, part(of.Expert.Split, e.width, whole)+of.Expert.Copied)
	}
	return n
}

// further returns what layers first to end-1 hold beside the model: room for adapters, and on the last stage the draft model.
func (f *Footprint) further(first, end int) int64 {
	bytes := f.adapters.of(first, end)
	if end == f.layers {
		bytes += f.draft.weights
	}
	return bytes
}

// one returns the cache of a sequence of the longest length in layers first to end-1.
func (f *Footprint) one(first, end int) int64 {
	bytes := f.cache.of(first, end)
	if end == f.layers {
		bytes += f.draft.cache
	}
	return bytes
}

// running returns the cache of a sequence as it runs in layers first to end-1, and its deviation.
func (f *Footprint) running(first, end int) (mean, deviation int64) {
	mean, deviation = f.mean.of(first, end), f.deviation.of(first, end)
	if end == f.layers {
		mean, deviation = mean+f.draft.mean, deviation+f.draft.deviation
	}
	return mean, deviation
}

// common returns how many tokens of a sequence's beginning a layer keeps once for all sequences, in whole blocks. A layer that
// does not keep all tokens has none: what has left its window is given back, and a state is of one sequence.
func (c *cache) common(layer int) int64 {
	if c.shared == 0 {
		return 0
	}
	sequence, _ := c.kept(layer)
	if sequence < c.blocks(c.length) {
		return 0
	}
	common := c.shared / c.context / c.block * c.block
	if c.mean > 0 {
		mean, _ := c.running(layer, sequence)
		common = min(common, mean)
	}
	return min(common, sequence)
}

// explainFurther returns the lines of what further counts.
func (f *Footprint) explainFurther(first, end int) []Line {
	var lines []Line
	in := &f.inference
	w := f.counter.weights(&f.setup)
	for _, g := range groups(&f.adapters, first, end) {
		lines = append(lines, Line{
			"weights", "adapters of " + g.String(), g.bytes(),
			fmt.Sprintf("%d layers × %d adapters × %d ranks × %d inputs and outputs × 2 B", g.count, in.AdapterSlots, in.AdapterRank, f.adapter(&w, g.first)),
			"room that the engine makes for adapters of a step, in 16 bits",
		})
	}
	if end == f.layers && f.draft.weights > 0 {
		lines = append(lines, Line{
			"weights", "draft model", f.draft.weights, fmt.Sprintf("%d B", f.draft.weights),
			fmt.Sprintf("%d layers of %s that draft %d tokens", max(1, f.setup.Draft.Modules)*int64(f.setup.Draft.Model.Architecture.Layers), f.setup.Draft.Model.Name, in.Drafted),
		})
	}
	return lines
}

// explainDraftCache returns the line of the draft model's cache on the last stage, for so many sequences of full length, or as they run
// with so many thousandths of a deviation.
func (f *Footprint) explainDraftCache(end int, whole, spared int64) []Line {
	d := &f.draft
	if end != f.layers || d.cache == 0 {
		return nil
	}
	line := Line{
		"kvCache", "draft model", times(whole, d.cache), fmt.Sprintf("%d sequences × %d B", whole, d.cache),
		"keys and values of the same tokens in the draft model's layers",
	}
	if spared > 0 {
		line.Bytes = times(whole, d.mean) + part(d.deviation, spared, 1000)
		line.Formula = fmt.Sprintf("%d sequences × %d B in the mean + %d / 1000 × %d B of deviation", whole, d.mean, spared, d.deviation)
	}
	return []Line{line}
}

// sharedFormula adds to a formula the tokens that all sequences have in common.
func sharedFormula(g group, common, token int64) string {
	if common == 0 {
		return ""
	}
	return fmt.Sprintf(" + %d layers × %d shared tokens × %d B", g.count, common, token)
}
