package launch

import (
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
)

// megatron is a program of Megatron-LM under torchrun. Stages are equal unless the sizes of the first and the last are given.
// Sources: megatron/training/arguments.py, megatron/core/transformer/transformer_config.py
// (num_layers_in_first_pipeline_stage, num_layers_in_last_pipeline_stage), megatron/core/parallel_state.py (default order).
var megatron = launcher{
	name:  "megatron",
	of:    ofMegatron,
	check: (*Copy).equalRuns,
	shared: func(c *Copy, e *Environment) {
		torchrun.shared(c, e)
		e.checkpoint(c)
		s, w := &c.Strategy, &command{of: ofMegatron, Environment: e}
		w.tell(engine.ForTensor, s.Tensor)
		w.tell(engine.ForPipeline, s.Pipeline)
		w.tell(engine.ForContext, s.Context)
		if s.Expert > 1 {
			w.tell(engine.ForExpert, s.Expert)
			w.tell(engine.ForExpertTensor, s.Tensor)
		}
		w.precision(c)
		w.training(c)
		if interleaved := c.Training != nil && c.Training.Virtual() > 1; !interleaved && slices.Max(c.Split) != slices.Min(c.Split) {
			w.tell(engine.ForFirst, c.Split[0])
			w.tell(engine.ForLast, c.Split[len(c.Split)-1])
		}
	},
	pod: func(c *Copy, p *Pod, e *Environment) { torchrun.pod(c, p, e) },
}

// precision tells the 16 bits that are computed in, without which it is 32, and the library of collectives where it is one that
// Megatron-LM knows: software of other devices puts its own in the place of NCCL.
func (w *command) precision(c *Copy) {
	switch c.sixteenBits() {
	case v1alpha1.BF16:
		w.tell(engine.ForBF16, nil)
	case v1alpha1.FP16:
		w.tell(engine.ForFP16, nil)
	}
	if library := w.of.Arguments.For(engine.ForLibrary); slices.Contains(library.Values, c.Backend) {
		w.tell(engine.ForLibrary, c.Backend)
	}
}

// training tells the job. States that are shared out by the first stage of ZeRO are those of the distributed optimizer; what the others
// share out takes another implementation of data parallelism, which the program chooses. Gradients are reduced beside the backward pass, as the
// plan's times count it.
func (w *command) training(c *Copy) {
	job, s := c.Training, &c.Strategy
	if job == nil {
		return
	}
	w.tell(engine.ForLength, job.SequenceLength)
	w.tell(engine.ForMicroBatch, max(1, job.MicroBatch))
	w.tell(engine.ForGlobalBatch, job.GlobalBatch)
	if s.Data > 1 {
		w.tell(engine.ForOverlap, nil)
	}
	if job.Sharding == "ZeRO1" {
		w.tell(engine.ForSharding, nil)
		if s.Data > 1 {
			w.tell(engine.ForOverlapGather, nil)
		}
	}
	if runs := int32(job.Virtual()); runs > 1 {
		w.runs(c, runs)
	}
	if ofMegatron.Jobs.ShareTokens(job, &c.model.Architecture) && s.Tensor > 1 {
		w.tell(engine.ForSequenceParallel, nil)
		w.set("CUDA_DEVICE_MAX_CONNECTIONS", "1") // without it Megatron-LM refuses to share out tokens (validate_args)
	}
	if job.Compute == v1alpha1.FP8 {
		w.tell(engine.ForFP8, "hybrid")
	}
	w.recompute(c)
}

// runs tells how many layers each run of a stage has: one number for all, or where they differ the runs in the order in which a micro-batch
// visits them, each with its layers (t), after the embedding (E) and before the loss (L).
func (w *command) runs(c *Copy, each int32) {
	shortest, longest := slices.Min(c.Split), slices.Max(c.Split)
	if shortest == longest && int32(longest)%each == 0 {
		w.tell(engine.ForVirtual, int32(longest)/each)
		return
	}
	var runs []string
	for run := range int(each) {
		for _, layers := range c.Split {
			layersOfRun := layers / int(each)
			if run < layers%int(each) {
				layersOfRun++
			}
			runs = append(runs, strings.Repeat("t", layersOfRun))
		}
	}
	w.tell(engine.ForRuns, "E"+strings.Join(runs, "|")+"L")
}

// recompute tells what is computed again: whole layers one by one, or their feed-forward blocks.
func (w *command) recompute(c *Copy) {
	switch c.Training.Recomputes() {
	case v1alpha1.RecomputeFull:
		w.tell(engine.ForRecompute, "full")
		w.tell(engine.ForRecomputeBy, "uniform")
		w.tell(engine.ForRecomputeLayers, 1)
	case v1alpha1.RecomputeSelective:
		w.tell(engine.ForRecompute, "selective")
		block := "mlp"
		if c.model.Architecture.MoE != nil {
			block = "moe"
		}
		w.tell(engine.ForRecomputeParts, block)
	}
}
