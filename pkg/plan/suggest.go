package plan

import (
	"fmt"
	"sort"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// suggest finds the smallest change that would make the request fit, by trying: the next smaller format, a shorter
// context, fewer sequences, a smaller batch, fewer copies, free degrees, a wider topology, more devices. It is empty where
// none of them alone is enough.
func (t *task) suggest() string {
	for _, change := range []func() string{
		t.smallerFormat, t.shorterContext, t.fewerSequences, t.smallerBatch, t.fewerCopies, t.freeDegrees, t.widerTopology, t.moreDevices,
	} {
		if text := change(); text != "" {
			return text
		}
	}
	return ""
}

func (t *task) fits() bool {
	found, _ := t.search()
	return found != nil
}

// largest is the largest number from 1 to n at which fits holds, which must hold below wherever it holds above; 0 where it
// holds nowhere.
func largest(n int, fits func(int) bool) int {
	if n < 1 || !fits(1) {
		return 0
	}
	return 1 + sort.Search(n-1, func(i int) bool { return !fits(i + 2) })
}

func (t *task) smallerFormat() string {
	if len(t.ladder) != 1 || t.workload.Training != nil {
		return ""
	}
	now := t.model.WeightBytes(t.ladder[0].format)
	for _, s := range ladder8 {
		if t.model.WeightBytes(s.format) >= now {
			continue
		}
		other := *t
		other.ladder = []step{{s.format, s.native, cacheFormat(t.spec.KVCacheType, s.format)}}
		if other.fits() {
			return fmt.Sprintf("quantization %s instead of %s (weights %s instead of %s)", s.format, t.ladder[0].format,
				v1alpha1.HumanBytes(t.model.WeightBytes(s.format)), v1alpha1.HumanBytes(now))
		}
	}
	return ""
}

// leastContext is the shortest context that is suggested where the request does not say how long its prompts are.
const leastContext = 1024

func (t *task) shorterContext() string {
	in := t.workload.Inference
	if in == nil {
		return ""
	}
	least := int32(leastContext)
	if in.InputTokens != nil || in.OutputTokens != nil {
		least = value(in.InputTokens) + value(in.OutputTokens)
	}
	var lengths []int32
	for n := int32(leastContext); n < in.MaxModelLen; n *= 2 {
		if n >= least {
			lengths = append(lengths, n)
		}
		if n > 1<<29 {
			break
		}
	}
	with := func(n int32) bool {
		changed := *in
		changed.MaxModelLen = n
		return t.withInference(&changed).fits()
	}
	at := largest(len(lengths), func(i int) bool { return with(lengths[i-1]) })
	if at == 0 {
		return ""
	}
	return fmt.Sprintf("maxModelLen %d instead of %d", lengths[at-1], in.MaxModelLen)
}

func value(p *int32) int32 {
	if p == nil {
		return 0
	}
	return *p
}

func (t *task) withInference(in *v1alpha1.InferenceWorkload) *task {
	other := *t
	other.workload.Inference = in
	return &other
}

func (t *task) fewerSequences() string {
	in := t.workload.Inference
	if in == nil {
		return ""
	}
	n := largest(int(in.MaxSequences)-1, func(n int) bool {
		changed := *in
		changed.MaxSequences = int32(n)
		return t.withInference(&changed).fits()
	})
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("maxSequences %d instead of %d", n, in.MaxSequences)
}

func (t *task) smallerBatch() string {
	training := t.workload.Training
	if training == nil {
		return ""
	}
	with := func(change func(*v1alpha1.TrainingWorkload)) bool {
		changed, other := *training, *t
		change(&changed)
		other.workload.Training = &changed
		return other.fits()
	}
	if !training.ActivationCheckpointing && with(func(w *v1alpha1.TrainingWorkload) { w.ActivationCheckpointing = true }) {
		return "activationCheckpointing"
	}
	if training.MicroBatch > 1 && with(func(w *v1alpha1.TrainingWorkload) { w.MicroBatch = 1 }) {
		return fmt.Sprintf("microBatch 1 instead of %d", training.MicroBatch)
	}
	return ""
}

func (t *task) fewerCopies() string {
	n := largest(t.copies-1, func(n int) bool {
		other := *t
		other.copies = n
		return other.fits()
	})
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%d of the %d copies", n, t.copies)
}

func (t *task) freeDegrees() string {
	if t.asked.tensor == 0 && t.asked.stages == 0 {
		return ""
	}
	other := *t
	other.asked.tensor, other.asked.stages = 0, 0
	other.pooled = map[string]pooled{}
	found, _ := other.search()
	if found == nil {
		return ""
	}
	return fmt.Sprintf("parallelism tensor %d and pipeline %d", found.portions[0].tensor, found.portions[0].stages)
}

func (t *task) widerTopology() string {
	if t.require.level == "" {
		return ""
	}
	other := *t
	other.require.level = ""
	other.pooled = map[string]pooled{}
	if !other.fits() {
		return ""
	}
	return fmt.Sprintf("topology.preferred instead of topology.required %s", t.require.level)
}
