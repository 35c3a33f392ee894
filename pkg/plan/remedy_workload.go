package plan

import (
	"fmt"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
)

// contextStep is what contexts are shortened by, in tokens.
const contextStep = 1024

// shorterContext returns the longest context that fits, in steps of contextStep, and no shorter than a typical request.
func shorterContext(t *task, ways []way) []remedy {
	field, now, least := "maxModelLen", int32(0), int32(0)
	set := func(s *v1alpha1.ModelPlacementSpec, n int32) { s.Workload.Inference.MaxModelLen = n }
	if in := t.workload.Inference; in != nil {
		now, least = in.MaxModelLen, valueOf(in.InputTokens)+valueOf(in.OutputTokens)
	} else {
		field, now = "sequenceLength", t.workload.Training.SequenceLength
		set = func(s *v1alpha1.ModelPlacementSpec, n int32) { s.Workload.Training.SequenceLength = n }
	}
	first := max(1, (least+contextStep-1)/contextStep)
	to := func(n int) edit {
		length := (first - 1 + int32(n)) * contextStep
		return func(s *v1alpha1.ModelPlacementSpec) { set(s, length) }
	}
	n := most(ways, int((now-1)/contextStep-(first-1)), func(n int) *task { return t.with(to(n)) })
	if n < 1 {
		return nil
	}
	return oneRemedy(KindContext, fmt.Sprintf("%s %d instead of %d", field, (first-1+int32(n))*contextStep, now), to(n))
}

func valueOf(p *int32) int32 {
	if p == nil {
		return 0
	}
	return *p
}

// fewerSequences returns the most sequences that fit.
func fewerSequences(t *task, ways []way) []remedy {
	in := t.workload.Inference
	if in == nil {
		return nil
	}
	to := func(n int) edit {
		return func(s *v1alpha1.ModelPlacementSpec) { s.Workload.Inference.MaxSequences = int32(n) }
	}
	n := most(ways, int(in.MaxSequences)-1, func(n int) *task { return t.with(to(n)) })
	if n < 1 {
		return nil
	}
	return oneRemedy(KindSequences, fmt.Sprintf("maxSequences %d instead of %d", n, in.MaxSequences), to(n))
}

// checkpointing tries to compute activations again in the backward pass.
func checkpointing(t *task, ways []way) []remedy {
	training := t.workload.Training
	if training == nil || training.ActivationCheckpointing {
		return nil
	}
	apply := func(s *v1alpha1.ModelPlacementSpec) { s.Workload.Training.ActivationCheckpointing = true }
	if !t.heldWith(ways, apply) {
		return nil
	}
	return oneRemedy(KindCheckpointing, "activationCheckpointing true instead of false", apply)
}

// smallerBatch returns the largest micro-batch that fits.
func smallerBatch(t *task, ways []way) []remedy {
	training := t.workload.Training
	if training == nil || training.MicroBatch <= 1 {
		return nil
	}
	// Micro-batches divide the batch of a data rank.
	var sizes []int32
	for n := int32(1); n < training.MicroBatch; n++ {
		if training.GlobalBatch/int32(max(1, t.asked.data))%n == 0 {
			sizes = append(sizes, n)
		}
	}
	to := func(n int) edit {
		return func(s *v1alpha1.ModelPlacementSpec) { s.Workload.Training.MicroBatch = sizes[n-1] }
	}
	n := most(ways, len(sizes), func(n int) *task { return t.with(to(n)) })
	if n < 1 {
		return nil
	}
	return oneRemedy(KindBatch, fmt.Sprintf("microBatch %d instead of %d", sizes[n-1], training.MicroBatch), to(n))
}

// fewerCopies returns the most copies that fit.
func fewerCopies(t *task, ways []way) []remedy {
	asked, data := t.copies, int32(1)
	if p := t.spec.Parallelism; p != nil && p.Data != nil && t.asked.data == 1 { // data ranks of a dense model are copies
		data = *p.Data
	}
	to := func(n int) edit {
		return func(s *v1alpha1.ModelPlacementSpec) {
			copies := int32(n)
			s.Replicas = &copies
			if data > 1 {
				s.Parallelism.Data = nil
			}
		}
	}
	n := most(ways, asked-1, func(n int) *task {
		other := *t
		other.copies = n
		return &other
	})
	if n < 1 {
		return nil
	}
	change := fmt.Sprintf("replicas %d instead of %d", n, asked)
	if data > 1 {
		change = fmt.Sprintf("replicas %d without parallelism.data instead of %d times %d", n, asked/int(data), data)
	}
	return oneRemedy(KindCopies, change, to(n))
}

// narrowerCache tries a KV cache in 8 bits, on devices that compute FP8.
func narrowerCache(t *task, _ []way) []remedy {
	auto := t.spec.KVCacheType == "" || t.spec.KVCacheType == v1alpha1.KVCacheAuto
	if t.workload.Inference == nil || !auto && t.spec.KVCacheType != "FP32" && t.spec.KVCacheType != "FP16" && t.spec.KVCacheType != "BF16" {
		return nil
	}
	apply := func(s *v1alpha1.ModelPlacementSpec) { s.KVCacheType = "FP8" }
	native := t.with(apply)
	if native == nil {
		return nil
	}
	native.require.formats = append(slices.Clone(native.require.formats), v1alpha1.FP8)
	native.pooled, native.laned = map[string]pooled{}, map[*pool][]*lane{}
	if !native.fits() {
		return nil
	}
	return oneRemedy(KindPrecision, fmt.Sprintf("kvCacheType FP8 instead of %s", t.ladder[0].cache), apply)
}

// widths are the formats of weights in the order in which they are suggested; true marks formats that the device must
// compute natively.
var widths = []rung{{v1alpha1.BF16, false}, {v1alpha1.FP16, false}, {v1alpha1.FP8, true}, {v1alpha1.INT8, false}, {v1alpha1.INT4, false}}

// narrowerWeights returns the widest format of weights that fits, among those that were not tried and that training can
// use.
func narrowerWeights(t *task, _ []way) []remedy {
	if t.workload.Training != nil || slices.ContainsFunc(t.ladder, func(s step) bool { return s.format != t.ladder[0].format }) {
		return nil
	}
	now := t.ladder[0].format
	if narrowest := widths[len(widths)-1].format; narrowest != now && !t.fitsWith(weightsOf(narrowest)) {
		return nil
	}
	for _, r := range widths {
		if r.format == now || t.model.WeightBytes(r.format) > t.model.WeightBytes(now) || r.format == v1alpha1.BF16 && now == v1alpha1.FP16 {
			continue
		}
		apply := weightsOf(r.format)
		other := t.with(apply)
		if other == nil {
			continue
		}
		for i := range other.ladder {
			other.ladder[i].native = r.native
		}
		if other.fits() {
			return oneRemedy(KindPrecision, fmt.Sprintf("quantization %s instead of %s (weights %s instead of %s)", r.format, now,
				words.HumanBytes(t.model.WeightBytes(r.format)), words.HumanBytes(t.model.WeightBytes(now))), apply)
		}
	}
	return nil
}

func weightsOf(format v1alpha1.Precision) edit {
	return func(s *v1alpha1.ModelPlacementSpec) { s.Quantization = v1alpha1.Quantization(format) }
}
