package v1alpha1

// Recomputes is what of the activations is computed again: activationCheckpointing true is another word for Full.
func (w *TrainingWorkload) Recomputes() Recompute {
	switch {
	case w.Recompute != "":
		return w.Recompute
	case w.ActivationCheckpointing:
		return RecomputeFull
	default:
		return RecomputeNone
	}
}

// Virtual is the number of runs of layers of a pipeline stage, at least 1.
func (w *TrainingWorkload) Virtual() int { return max(1, int(w.VirtualStages)) }
