package memory

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// suffix writes how weights are multiplied and shared in training.
func (t *training) suffix(ranks int64) string {
	return fmt.Sprintf(" × %d models / %d ranks", t.method.models, ranks)
}

// explain returns the arithmetic of gradients, optimizer and activations.
func (t *training) explain(f *Footprint, u Use, first, end int) []Line {
	tables := f.quick.tables[f.at(first, end)]
	layers, table := f.trained.of(first, end), t.table(f)
	count := fmt.Sprintf("(%d in layers + %d tables × %d) parameters", layers, tables, table)
	experts := f.trainedExperts.of(first, end)
	shares := func(bytes, ranks int64) string {
		text := fmt.Sprintf("%s × %d B / %d ranks", count, bytes, ranks)
		if experts > 0 {
			text += fmt.Sprintf(" + %d in experts × %d B / %d ranks", experts, bytes, beside(ranks, t.states.expert))
		}
		return text
	}
	lines := []Line{
		{"gradients", "gradients", u.Gradients, shares(t.states.gradient, t.states.gradientRanks), ""},
		{"optimizer", "states", u.Optimizer, shares(t.states.optimizer, t.states.optimizerRanks), ""},
	}
	lines = append(lines, t.explainKept(f, first, end)...)
	if t.gathered > 0 {
		lines = append(lines, Line{"activations", "gathered weights", t.gathered, fmt.Sprintf("2 layers × %d B", t.gathered/2), "the layer in use and the next one, whole"})
	}
	if t.recomputed > 0 {
		lines = append(lines, Line{"activations", "recomputed", t.recomputed, fmt.Sprintf("1 layer × %d B", t.recomputed), "what the backward pass computes again of a layer"})
	}
	if end == f.layers {
		a, load := &t.setup.Model.Architecture, t.setup.Training
		lines = append(lines, Line{
			"activations", "loss", t.loss,
			fmt.Sprintf("%d sequences × %d tokens × %d words × %d B / %d ranks", max(1, load.MicroBatch), t.tokens(), a.VocabSize, lossBytes, t.setup.Layout.Tensor),
			"32-bit logits and their gradient",
		})
	}
	return lines
}

// explainKept returns the arithmetic of what layers keep, those of equal size together.
func (t *training) explainKept(f *Footprint, first, end int) []Line {
	alive, runs := t.inFlight()
	var lines []Line
	for _, g := range groups(&f.kept, first, end) {
		lines = append(lines, Line{
			"activations", "kept of " + g.String(), g.bytes(),
			fmt.Sprintf("%d layers × %d tokens × %d values × %d B × %d / %d micro-batches", g.count, t.passTokens(), t.kept(g.first)/times(t.passTokens(), plainBytes(t.setup.Weights)), plainBytes(t.setup.Weights), alive, runs),
			keptNotes[t.setup.Training.Recomputes()],
		})
	}
	return lines
}

var keptNotes = map[v1alpha1.Recompute]string{
	v1alpha1.RecomputeNone:      "inputs of norms, matrices, attention and activation function",
	v1alpha1.RecomputeSelective: "all but the inside of the feed-forward block",
	v1alpha1.RecomputeFull:      "the input of each layer",
}
