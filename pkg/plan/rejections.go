package plan

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// rejections remembers what did not fit: of each format the single device, the last tensor group and the last pipeline.
type rejections struct {
	entries []rejection
}

type rejection struct {
	attempt *attempt
	shape   shape
	kind    int
}

func (r *rejections) add(a *attempt, s shape) {
	kind := 0
	switch {
	case s.stages > 1:
		kind = 2
	case s.tensor > 1:
		kind = 1
	}
	if n := len(r.entries); n > 0 && r.entries[n-1].attempt == a && r.entries[n-1].kind == kind {
		r.entries[n-1].shape = s
		return
	}
	r.entries = append(r.entries, rejection{a, s, kind})
}

// maxRejected is the API's bound of ShardingPlanSpec.Rejected.
const maxRejected = 16

func (r *rejections) list() []v1alpha1.RejectedPlan {
	entries := r.entries[:min(len(r.entries), maxRejected)]
	plans := make([]v1alpha1.RejectedPlan, 0, len(entries))
	for _, e := range entries {
		plans = append(plans, e.explain())
	}
	if len(plans) == 0 {
		return nil
	}
	return plans
}

// explain says in numbers why the shape did not fit.
func (e *rejection) explain() v1alpha1.RejectedPlan {
	t := e.attempt.task
	f := e.attempt.footprint(e.shape)
	plan := v1alpha1.RejectedPlan{Strategy: clip(t.summary(e.shape)+" "+string(e.attempt.step.format), 64), Reason: ReasonTooLarge}
	if e.shape.stages > 1 {
		need, free, devices := f.together(e.shape.stages, e.shape.tensor), int64(0), 0
		for _, p := range e.attempt.levels[len(e.attempt.levels)-1] {
			caps := p.groupCaps(e.shape.tensor, e.shape.stages)
			sum := int64(0)
			for _, c := range caps {
				sum += c * int64(e.shape.tensor)
			}
			if sum >= free {
				free, devices = sum, len(caps)*e.shape.tensor
			}
		}
		plan.Message = fmt.Sprintf("%s need %s together; the %d largest free devices of one vendor offer %s, and each stage needs whole layers",
			v1alpha1.Counted(e.shape.devices(), "device"), v1alpha1.HumanBytes(need), devices, v1alpha1.HumanBytes(free))
		return plan
	}
	need := f.bytes(0, f.layers)
	fitting, best := 0, int64(0)
	for _, p := range e.attempt.levels[len(e.attempt.levels)-1] {
		n := 0
		for _, c := range p.groupCaps(e.shape.tensor, t.instances()) {
			best = max(best, c)
			if c >= need {
				n++
			}
		}
		fitting = max(fitting, n)
	}
	place := "the largest free device"
	if e.shape.tensor > 1 {
		place = fmt.Sprintf("each device of the best free group of %d", e.shape.tensor)
	}
	if fitting > 0 {
		plan.Reason = ReasonTooFewDevices
		plan.Message = fmt.Sprintf("only %d of %d fit", fitting, t.instances())
		return plan
	}
	plan.Message = fmt.Sprintf("a device needs %s (%s); %s offers %s", v1alpha1.HumanBytes(need), uses(f.use(0, f.layers)), place, v1alpha1.HumanBytes(best))
	return plan
}

// together is what all devices of a pipeline need, fixed parts included.
func (f *footprint) together(stages, tensor int) int64 {
	need := f.weights[f.layers] + f.cache[f.layers] + f.state[f.layers] + f.embedding + f.norm + f.head + f.logits + 2*f.endState
	return int64(tensor) * (need + int64(stages)*(f.fixed+f.overhead))
}

func uses(u v1alpha1.MemoryUse) string {
	return fmt.Sprintf("weights %s, KV cache %s, activations %s, overhead %s", v1alpha1.HumanBytes(u.WeightsBytes),
		v1alpha1.HumanBytes(u.KVCacheBytes), v1alpha1.HumanBytes(u.ActivationsBytes), v1alpha1.HumanBytes(u.OverheadBytes))
}
