package cost

import "github.com/rankwright/rankwright/api/v1alpha1"

// TrainingOptions are what training jobs are and are told beside degrees that changes their time, each true where a job is so or where it was measured.
type TrainingOptions [trainingOptions]bool

const trainingOptions = 7

// optionNames are the options in words, in the order of TrainingOptions.
var optionNames = [trainingOptions]string{
	"matrices in FP8", "activations computed again", "feed-forward blocks computed again", "tokens shared out among tensor ranks", "sharded weights", "virtual stages",
	"a mixture of experts",
}

// Options are those of the job.
func (t *Training) Options() TrainingOptions {
	return TrainingOptions{
		t.FP8, t.Recompute == v1alpha1.RecomputeFull, t.Recompute == v1alpha1.RecomputeSelective, t.SequenceParallel && t.Strategy.Tensor > 1,
		t.Sharding == "FSDP" || t.Sharding == "ZeRO3", t.Virtual > 1,
		t.Profile.experts.count > 0,
	}
}

// Or returns what one of the two has.
func (o TrainingOptions) Or(other TrainingOptions) TrainingOptions {
	for i, is := range other {
		o[i] = o[i] || is
	}
	return o
}

// missing returns the first option that a job is told and that was not measured; -1 where there is none.
func (o *TrainingOptions) missing(told *TrainingOptions) int {
	for i, is := range told {
		if is && !o[i] {
			return i
		}
	}
	return -1
}
