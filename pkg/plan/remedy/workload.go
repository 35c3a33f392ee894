package remedy

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/plan/search"
	"github.com/rankwright/rankwright/pkg/shape"
)

// ContextStep is what contexts are shortened by, in tokens.
const ContextStep = 1024

// shorterContext returns the longest context that fits, in steps of contextStep, and no shorter than a typical request.
func shorterContext(t *shape.Problem, families []search.Family) []Remedy {
	field, now, least := "maxModelLen", int32(0), int32(0)
	set := func(s *v1alpha1.ModelPlacementSpec, n int32) { s.Workload.Inference.MaxModelLen = n }
	if in := t.Workload.Inference; in != nil {
		now, least = in.MaxModelLen, valueOf(in.InputTokens)+valueOf(in.OutputTokens)
	} else {
		field, now = "sequenceLength", t.Workload.Training.SequenceLength
		set = func(s *v1alpha1.ModelPlacementSpec, n int32) { s.Workload.Training.SequenceLength = n }
	}
	first := max(1, (least+ContextStep-1)/ContextStep)
	to := func(n int) shape.Edit {
		length := (first - 1 + int32(n)) * ContextStep
		return func(s *v1alpha1.ModelPlacementSpec) { set(s, length) }
	}
	n := search.Most(families, int((now-1)/ContextStep-(first-1)), func(n int) *shape.Problem { return t.With(to(n)) })
	if n < 1 {
		return nil
	}
	return oneRemedy(KindContext, fmt.Sprintf("%s %d instead of %d", field, (first-1+int32(n))*ContextStep, now), to(n))
}

func valueOf(p *int32) int32 {
	if p == nil {
		return 0
	}
	return *p
}

// fewerSequences returns the most sequences that fit: of the whole placement where its load is given, else of a copy.
func fewerSequences(t *shape.Problem, families []search.Family) []Remedy {
	if t.Workload.Inference == nil {
		return nil
	}
	name, field := "maxSequences", func(in *v1alpha1.InferenceWorkload) *int32 { return &in.MaxSequences }
	if t.Sequences() > 0 {
		name, field = "totalSequences", func(in *v1alpha1.InferenceWorkload) *int32 { return &in.TotalSequences }
	}
	to := func(n int) shape.Edit {
		return func(s *v1alpha1.ModelPlacementSpec) { *field(s.Workload.Inference) = int32(n) }
	}
	now := *field(t.Workload.Inference)
	n := search.Most(families, int(now)-1, func(n int) *shape.Problem { return t.With(to(n)) })
	if n < 1 {
		return nil
	}
	return oneRemedy(KindSequences, fmt.Sprintf("%s %d instead of %d", name, n, now), to(n))
}

// checkpointing tries to compute activations again in the backward pass.
func checkpointing(t *shape.Problem, families []search.Family) []Remedy {
	training := t.Workload.Training
	if training == nil || training.Recomputes() == v1alpha1.RecomputeFull {
		return nil
	}
	text := "activationCheckpointing true instead of false"
	apply := func(s *v1alpha1.ModelPlacementSpec) { s.Workload.Training.ActivationCheckpointing = true }
	if training.Recompute != "" {
		text = fmt.Sprintf("recompute Full instead of %s", training.Recompute)
		apply = func(s *v1alpha1.ModelPlacementSpec) { s.Workload.Training.Recompute = v1alpha1.RecomputeFull }
	}
	if !heldWith(t, families, apply) {
		return nil
	}
	return oneRemedy(KindCheckpointing, text, apply)
}

// smallerBatch returns the largest micro-batch that fits.
func smallerBatch(t *shape.Problem, families []search.Family) []Remedy {
	training := t.Workload.Training
	if training == nil || training.MicroBatch <= 1 {
		return nil
	}
	// Micro-batches divide the batch of a data rank.
	var sizes []int32
	for n := int32(1); n < training.MicroBatch; n++ {
		if training.GlobalBatch/int32(max(1, t.Asked.Data))%n == 0 {
			sizes = append(sizes, n)
		}
	}
	to := func(n int) shape.Edit {
		return func(s *v1alpha1.ModelPlacementSpec) { s.Workload.Training.MicroBatch = sizes[n-1] }
	}
	n := search.Most(families, len(sizes), func(n int) *shape.Problem { return t.With(to(n)) })
	if n < 1 {
		return nil
	}
	return oneRemedy(KindBatch, fmt.Sprintf("microBatch %d instead of %d", sizes[n-1], training.MicroBatch), to(n))
}

// otherCopies returns the most copies that fit; where they share a load, the number that would be chosen.
func otherCopies(t *shape.Problem, families []search.Family) []Remedy {
	switch {
	case t.Open:
		return nil
	case t.Sequences() > 0:
		return sharedCopies(t)
	}
	asked, data := t.Copies, int32(1)
	if p := t.Spec.Parallelism; p != nil && p.Data != nil && t.Asked.Data == 1 { // data ranks of a dense model are copies
		data = *p.Data
	}
	n := search.MostCopies(t, families, asked-1)
	if n < 1 {
		return nil
	}
	change := fmt.Sprintf("replicas %d instead of %d", n, asked)
	if data > 1 {
		change = fmt.Sprintf("replicas %d without parallelism.data instead of %d times %d", n, asked/int(data), data)
	}
	return oneRemedy(KindCopies, change, t.InCopies(n))
}

// sharedCopies returns the number of copies that would be chosen for the load that they share.
func sharedCopies(t *shape.Problem) []Remedy {
	free := func(s *v1alpha1.ModelPlacementSpec) { s.Replicas = nil }
	found, _ := search.Best(t.With(free))
	if found == nil {
		return nil
	}
	to := t.InCopies(found.Tier.Problem.Copies)
	if !fitsWith(t, to) {
		return nil
	}
	return oneRemedy(KindCopies, fmt.Sprintf("replicas %d instead of %d", found.Tier.Problem.Copies, t.Copies), to)
}

// narrowerCache tries a KV cache in 8 bits, on devices that compute FP8.
func narrowerCache(t *shape.Problem, _ []search.Family) []Remedy {
	auto := t.Spec.KVCacheType == "" || t.Spec.KVCacheType == v1alpha1.KVCacheAuto
	if t.Workload.Inference == nil || !auto && t.Spec.KVCacheType != "FP32" && t.Spec.KVCacheType != "FP16" && t.Spec.KVCacheType != "BF16" {
		return nil
	}
	apply := func(s *v1alpha1.ModelPlacementSpec) { s.KVCacheType = "FP8" }
	if !fitsWith(t, onDevicesOf(v1alpha1.FP8, apply)) {
		return nil
	}
	return oneRemedy(KindPrecision, fmt.Sprintf("kvCacheType FP8 instead of %s", t.Ladder[0].Cache), apply)
}

// onDevicesOf returns an edit on those devices alone that compute a format.
func onDevicesOf(format v1alpha1.Precision, apply shape.Edit) shape.Edit {
	return func(s *v1alpha1.ModelPlacementSpec) {
		apply(s)
		if s.Devices == nil {
			s.Devices = &v1alpha1.DeviceRequirements{}
		}
		s.Devices.Precisions = append(s.Devices.Precisions, format)
	}
}

// widths are the formats of weights in the order in which they are suggested. FP8 is suggested where devices compute it.
var widths = []v1alpha1.Precision{v1alpha1.BF16, v1alpha1.FP16, v1alpha1.FP8, v1alpha1.INT8, v1alpha1.INT4}

// narrowerWeights returns the widest format of weights that fits, among those that take less than the ones that were tried. Training
// keeps its own.
func narrowerWeights(t *shape.Problem, _ []search.Family) []Remedy {
	if t.Workload.Training != nil {
		return nil
	}
	now := t.Narrowest().Weights
	if narrowest := widths[len(widths)-1]; narrowest != now && !fitsWith(t, weightsOf(narrowest)) {
		return nil
	}
	for _, format := range widths {
		if format == now || t.Model.WeightBytes(format) > t.Model.WeightBytes(now) || format == v1alpha1.BF16 && now == v1alpha1.FP16 {
			continue
		}
		apply := weightsOf(format)
		tried := apply
		if format == v1alpha1.FP8 {
			tried = onDevicesOf(format, apply)
		}
		if fitsWith(t, tried) {
			return oneRemedy(KindPrecision, fmt.Sprintf("quantization %s instead of %s (weights %s instead of %s%s)", format, now,
				words.HumanBytes(t.Model.WeightBytes(format)), words.HumanBytes(t.Model.WeightBytes(now)), unknown(t, format)), apply)
		}
	}
	return nil
}

// unknown says that weights in a format have to be brought; empty where a checkpoint of them is known or the engine makes them.
func unknown(t *shape.Problem, format v1alpha1.Precision) string {
	if from := t.Supply(format); from == shape.Stored || from == shape.Made && t.MakesSomewhere(format) {
		return ""
	}
	return "; no checkpoint in it is known: bring one"
}

func weightsOf(format v1alpha1.Precision) shape.Edit {
	return func(s *v1alpha1.ModelPlacementSpec) { s.Quantization = v1alpha1.Quantization(format) }
}
