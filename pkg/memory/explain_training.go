package memory

import "fmt"

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
		{"activations", "kept", f.kept.of(first, end), fmt.Sprintf("%d layers × %d micro-batches × %d B", end-first, t.inFlight(), t.kept/t.inFlight()), t.keptNote()},
	}
	if t.recomputed > 0 {
		lines = append(lines, Line{"activations", "recomputed", t.recomputed, fmt.Sprintf("1 layer × %d B", t.recomputed), "the layer that the backward pass computes again"})
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

func (t *training) keptNote() string {
	if t.setup.Training.ActivationCheckpointing {
		return "the input of each layer: tokens × hidden × 2 B"
	}
	return "tokens × hidden × (10 + 24 / tensor ranks) B in 16 bits"
}
