package agreement

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/fleet"
)

// jobs differ in what engines look at beside degrees: the sharding, and whether the micro-batches suit the stages.
var jobs = []*v1alpha1.TrainingWorkload{
	{Method: "Full", Optimizer: "AdamW", SequenceLength: 4096, GlobalBatch: 480, MicroBatch: 1, Sharding: "None"},
	{Method: "Full", Optimizer: "AdamW", SequenceLength: 4096, GlobalBatch: 480, MicroBatch: 1, Sharding: "ZeRO3", ActivationCheckpointing: true},
	{
		Method: "Full", Optimizer: "AdamW", SequenceLength: 4096, GlobalBatch: 480, MicroBatch: 1, Sharding: "ZeRO1", Recompute: "Selective", SequenceParallel: true, Compute: "FP8",
		VirtualStages: 2,
	},
	{Method: "LoRA", Optimizer: "SGD", SequenceLength: 2048, GlobalBatch: 8, MicroBatch: 2, Sharding: "ZeRO1"},
}

// trainingDegrees are the degrees that are asked about: of tensor, pipeline and data alone and in pairs, and of a mixture
// with its experts shared out.
func trainingDegrees(a *v1alpha1.Architecture) [][4]int {
	all := [][4]int{{2, 2, 2, 1}, {1, 2, 4, 1}, {2, 1, 3, 1}}
	for _, n := range []int{1, 2, 3, 4, 5, 8, 16} {
		all = append(all, [4]int{n, 1, 1, 1}, [4]int{1, n, 1, 1}, [4]int{1, 1, n, 1}, [4]int{2, n, 1, 1})
		if a.MoE != nil {
			all = append(all, [4]int{1, 1, n, n}, [4]int{1, 1, n, 2}, [4]int{n, 1, 2, 2}, [4]int{n, 1, 1, n})
		}
	}
	return all
}

// TestTrainingOfEveryModelInEveryDegree asks whether models are trained.
func TestTrainingOfEveryModelInEveryDegree(t *testing.T) {
	everyModel(t, trainingDegrees, sample, trained)
}

// TestTrainingOnEveryDevice asks whether a model is trained.
func TestTrainingOnEveryDevice(t *testing.T) {
	usual := question{row(t, string(engine.DefaultTraining)), lookup(t, "Llama-3.1-8B"), v1alpha1.FP16, nil, 1, 1, 1, 1, jobs[0]}
	everyProduct(t, usual, 2, func(q *question) error {
		_, err := q.train()
		return err
	}, trained)
}

// trained asks all about a question and returns their answer. A plan does not keep the batch and the sharding, so an export
// may be possible where these forbid training; where training is possible, export is too, and so is it where no job can
// forbid it. Where the product's own link joins the devices, as on the node of a question, both times of a step are equal.
func trained(t *testing.T, q *question, cluster *fleet.Cluster) bool {
	t.Helper()
	seconds, estimated := q.train()
	if errors.Is(estimated, errMemory) {
		return true
	}
	planned, refused := q.plan(cluster)
	exported := q.export()
	w := q.training
	byJob := q.pipeline > 1 || q.engine.Jobs.ShareTokens(w, &q.model.Architecture) || w.Virtual() > 1 || w.Compute != "" || int(q.training.GlobalBatch)%(int(q.training.MicroBatch)*q.data) != 0
	if (estimated == nil) != (refused == nil) || estimated == nil && exported != nil || !byJob && (estimated == nil) != (exported == nil) {
		t.Errorf("%s:\n train  %v\n plan   %v\n export %v", q, estimated, refused, exported)
	}
	if estimated != nil || refused != nil || planned.Estimate == nil || !q.product.Switched() {
		return estimated == nil
	}
	if off := math.Abs(seconds*1e3 - float64(planned.Estimate.StepMillis.Value)); off > 0.51+seconds/100 { // of rounding to milliseconds, and to six digits
		t.Errorf("%s: a step takes %g ms in train and %d ms in plan", q, seconds*1e3, planned.Estimate.StepMillis.Value)
	}
	return true
}

// sample returns the jobs of the i-th degrees: all of them are asked about in turn, the first always.
func sample(i int) []*v1alpha1.TrainingWorkload {
	return slices.Compact([]*v1alpha1.TrainingWorkload{jobs[0], jobs[i%len(jobs)]})
}
