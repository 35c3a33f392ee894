package engine

import "github.com/rankwright/rankwright/api/v1alpha1"

// Jobs is what an engine's programs can do in training beside the usual.
type Jobs struct {
	// SharesTokens is set where tensor ranks can share out the tokens between their matrices (sequence parallelism).
	SharesTokens bool
	// Interleaves is set where a pipeline stage can have several runs of layers.
	Interleaves bool
	// UnequalRuns is set where the runs of a stage can be given their numbers of layers.
	UnequalRuns bool
	// ExpertsShareTokens is set where tensor ranks of a mixture of experts always do so.
	ExpertsShareTokens bool
	// FP8 is set where matrices can be multiplied in FP8.
	FP8 bool
	// Fused is set where attention is cuDNN's.
	Fused bool
	// KeepsFP8 is set where the inputs of matrices that are multiplied in FP8 are kept so for the backward pass.
	KeepsFP8 bool
}

// ShareTokens says whether the tensor ranks of a job share out the tokens between their matrices: where it asks for that, and where the
// engine has no other way for the model.
func (j *Jobs) ShareTokens(w *v1alpha1.TrainingWorkload, a *v1alpha1.Architecture) bool {
	return w.SequenceParallel || j.ExpertsShareTokens && a.MoE != nil
}

// anyJob is what a program of the user's own can do, since it decides.
var anyJob = Jobs{SharesTokens: true, Interleaves: true, UnequalRuns: true, FP8: true}

// Fields of a training workload that an engine may refuse.
const (
	FieldSequenceParallel = "sequenceParallel"
	FieldVirtualStages    = "virtualStages"
	FieldCompute          = "compute"
)

// RefusesJob says why the engine cannot run what a job asks for, whatever its degrees; nil where it can. The refusal names a field of
// the workload in the place of a degree.
func (e *Engine) RefusesJob(c *Case) *Refusal {
	w, can := c.Training, &e.Jobs
	switch {
	case w == nil:
		return nil
	case w.SequenceParallel && !can.SharesTokens:
		return refuse(FieldSequenceParallel, 1, "%s has none that is known: leave it out, or use %s", e.Name, thatCan(func(j *Jobs) bool { return j.SharesTokens }))
	case w.Virtual() > 1 && !can.Interleaves:
		return refuse(FieldVirtualStages, w.Virtual(), "%s interleaves no pipelines that are known: leave it out, or use %s", e.Name, thatCan(func(j *Jobs) bool { return j.Interleaves }))
	case w.Compute == v1alpha1.FP8 && !can.FP8:
		return refuse(FieldCompute, 1, "%s multiplies in no FP8 that is known: leave it out, or use %s", e.Name, thatCan(func(j *Jobs) bool { return j.FP8 }))
	default:
		return nil
	}
}

// thatCan names the engines of the table that can do something.
func thatCan(do func(*Jobs) bool) string {
	var names []v1alpha1.Engine
	for _, e := range table {
		if len(e.Support) > 0 && do(&e.Jobs) {
			names = append(names, e.Name)
		}
	}
	return alternatives(names)
}

// refusesTokens says why tensor ranks cannot share out the tokens of a sequence.
func (e *Engine) refusesTokens(c *Case) *Refusal {
	if c.Training == nil || !e.Jobs.ShareTokens(c.Training, c.Architecture) || c.Tensor <= 1 {
		return nil
	}
	ranks := c.Tensor * max(1, c.Context)
	switch {
	case int(c.Training.SequenceLength)%ranks == 0:
		return nil
	case c.Training.SequenceParallel:
		return refuse(DegreeTensor, c.Tensor, "sequenceLength %d is no multiple of the %d ranks that share out its tokens: use a divisor, or leave out sequenceParallel", c.Training.SequenceLength, ranks)
	default:
		return refuse(DegreeTensor, c.Tensor, "sequenceLength %d is no multiple of the %d ranks that share out its tokens, as %s has tensor ranks do in mixtures of experts: use a divisor", c.Training.SequenceLength, ranks, e.Name)
	}
}

// refusesInterleaving says why stages cannot have as many runs of layers as a job asks for: all runs have equally many layers where the
// engine cannot be told otherwise, and micro-batches come in groups of as many as there are stages. Sources: Megatron-LM's validate_args
// (num_layers_per_virtual_pipeline_stage) and forward_backward_pipelining_with_interleaving; PyTorch's ScheduleInterleaved1F1B.
func (e *Engine) refusesInterleaving(c *Case) *Refusal {
	if c.Training == nil || c.Training.Virtual() <= 1 {
		return nil
	}
	runs := c.Training.Virtual()
	switch count := c.MicroBatches(); {
	case c.Stages <= 1:
		return refuse(DegreePipeline, c.Stages, "virtualStages %d are of the stages of a pipeline: use at least 2 stages, or leave virtualStages out", runs)
	case int(c.Architecture.Layers) < c.Stages*runs:
		return refuse(DegreePipeline, c.Stages, "%d stages of virtualStages %d have at least %d layers, and %s has %d", c.Stages, runs, c.Stages*runs, c.Model, c.Architecture.Layers)
	case !e.Jobs.UnequalRuns && int(c.Architecture.Layers)%(c.Stages*runs) != 0:
		return refuse(DegreePipeline, c.Stages, "%d stages of virtualStages %d do not divide the %d layers of %s", c.Stages, runs, c.Architecture.Layers, c.Model)
	case count%c.Stages != 0:
		return refuse(DegreePipeline, c.Stages, "%s interleaves micro-batches in groups of as many as there are stages, and a data rank has %d in a step", e.Name, count)
	default:
		return nil
	}
}

// CutsFor returns the splits that the engine can be told to make for a workload. Interleaved stages are as equal as they can be, and equal
// where their runs must be.
func (e *Engine) CutsFor(w *v1alpha1.TrainingWorkload) Cuts {
	switch {
	case w == nil || w.Virtual() <= 1:
		return e.Stages.Cuts
	case e.Jobs.UnequalRuns:
		return CutUniform
	default:
		return CutEven
	}
}

// SplitFor returns the number of layers that the engine gives to each stage by default in a workload; nil unless 1 <= stages <= layers.
func (e *Engine) SplitFor(w *v1alpha1.TrainingWorkload, layers, stages int) []int {
	if e.CutsFor(w) == e.Stages.Cuts {
		return e.Stages.Split(layers, stages)
	}
	return new(Stages).Split(layers, stages)
}
