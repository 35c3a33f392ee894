package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
)

// rejections remembers, for each format, the largest shapes that were too large and the best candidates that missed a
// limit.
type rejections struct {
	entries []rejection
	late    []late
	fitted  *attempt // the last one with a candidate that fits
}

// late is a candidate that fits in memory and misses a limit, and the factor by which it misses it.
type late struct {
	by   float64
	plan v1alpha1.RejectedPlan
}

type rejection struct {
	attempt *attempt
	shape   shape
}

// tooLarge notes the single device, the largest tensor group and the longest pipeline of an attempt in which nothing fits.
func (r *rejections) tooLarge(a *attempt) {
	if a.lean || a.divided || r.fitted == a {
		return // the defaults were noted already, and these need less; or it is not memory that lacks
	}
	t := a.task
	widest, most := 0, 0
	for _, p := range a.levels[len(a.levels)-1] {
		devices := 0
		for i := range p.parts {
			widest = max(widest, min(p.parts[i].limit, len(p.parts[i].devices)))
			devices += len(p.parts[i].devices)
		}
		most = max(most, devices/t.instances())
	}
	tensors := t.tensors(widest)
	if len(tensors) == 0 {
		return
	}
	tensor := tensors[len(tensors)-1]
	across := tensor
	if most/tensor < 2 && t.asked.tensor == 0 {
		across = 1
	}
	stages := min(most/across, int(t.model.Architecture.Layers))
	if n := t.asked.stages; n > 0 {
		stages = n
	}
	one := shape{tensor: 1, stages: 1, data: max(1, t.asked.data), expert: max(1, t.asked.expert), context: t.asked.context}
	if t.asked.tensor <= 1 && t.asked.stages <= 1 {
		r.add(a, one)
	}
	if one.tensor = tensor; tensor > 1 && t.asked.stages <= 1 {
		r.add(a, one)
	}
	if one.tensor, one.stages = across, stages; stages > 1 {
		r.add(a, one)
	}
}

func (r *rejections) add(a *attempt, s shape) { r.entries = append(r.entries, rejection{a, s}) }

// missed notes the candidates that fit in memory and miss a limit.
func (r *rejections) missed(a *attempt, candidates []*candidate) {
	for _, c := range candidates {
		if c.missed == noLimit {
			continue
		}
		r.fitted = a
		r.late = append(r.late, late{a.task.missedBy(c), v1alpha1.RejectedPlan{
			Strategy: words.Shorten(a.title(c)+" "+string(a.step.format), 64), Reason: ReasonLimit, Message: words.Shorten(a.task.missedText(c), 512),
		}})
	}
}

// nearest returns the plans that miss the limits by least, one for each title, up to a number.
func (r *rejections) nearest(most int) []v1alpha1.RejectedPlan {
	slices.SortStableFunc(r.late, func(a, b late) int { return cmp.Compare(a.by, b.by) })
	var plans []v1alpha1.RejectedPlan
	seen := map[string]bool{}
	for i := range r.late {
		p := r.late[i].plan
		if !seen[p.Strategy] && len(plans) < most {
			seen[p.Strategy] = true
			plans = append(plans, p)
		}
	}
	return plans
}

// maxLate bounds how many candidates that miss a limit are listed.
const maxLate = 8

// maxRejected is the API's bound of ShardingPlanSpec.Rejected.
const maxRejected = 16

func (r *rejections) list() []v1alpha1.RejectedPlan {
	if r == nil {
		return nil
	}
	plans := r.nearest(maxLate)
	for _, e := range r.entries[:min(len(r.entries), maxRejected-len(plans))] {
		if p, ok := e.explain(); ok {
			plans = append(plans, p)
		}
	}
	if len(plans) == 0 {
		return nil
	}
	return plans
}

// explain says in numbers why the shape did not fit.
func (e *rejection) explain() (v1alpha1.RejectedPlan, bool) {
	t := e.attempt.task
	f := e.attempt.footprint(-1, e.shape)
	if f == nil {
		return v1alpha1.RejectedPlan{}, false
	}
	plan := v1alpha1.RejectedPlan{Strategy: words.Shorten(t.summary(e.shape, t.copies)+" "+string(e.attempt.step.format), 64), Reason: ReasonTooLarge}
	if e.shape.stages > 1 {
		need, free, devices := f.together(e.shape), int64(0), 0
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
			words.Counted(e.shape.devices(), "device"), words.HumanBytes(need), devices, words.HumanBytes(free))
		if level := t.require.level; level != "" && free >= need {
			plan.Message += fmt.Sprintf(" and one value of %s", level)
		}
		return plan, true
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
	if best == 0 {
		plan.Message = fmt.Sprintf("a device needs %s (%s); no %d free devices are on one island", words.HumanBytes(need), uses(f.perDevice(0, f.layers)), e.shape.tensor)
		return plan, true
	}
	if fitting >= t.instances() { // it fits, and what else it lacks is listed
		return v1alpha1.RejectedPlan{}, false
	}
	if fitting > 0 {
		plan.Reason = ReasonTooFewDevices
		plan.Message = fmt.Sprintf("only %d of %d fit", fitting, t.instances())
		return plan, true
	}
	plan.Message = fmt.Sprintf("a device needs %s (%s); %s offers %s", words.HumanBytes(need), uses(f.perDevice(0, f.layers)), place, words.HumanBytes(best))
	return plan, true
}
