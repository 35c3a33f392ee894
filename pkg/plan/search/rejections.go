package search

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/shape"
)

// Rejections remembers, for each format, the largest shapes that were too large and the best candidates that missed a
// limit.
type Rejections struct {
	// Problem is what was searched: that of the request, in one number of copies.
	Problem *shape.Problem
	entries []rejection
	missed  []missedCandidate
	fitted  *shape.Tier // the last one with a candidate that fits
}

// missedCandidate is a candidate that fits in memory and misses a limit, and the factor by which it misses it.
type missedCandidate struct {
	by   float64
	plan v1alpha1.RejectedPlan
}

type rejection struct {
	tier  *shape.Tier
	shape shape.Shape
}

// tooLarge notes the single device, the largest tensor group and the longest pipeline of a tier in which nothing fits.
func (r *Rejections) tooLarge(a *shape.Tier) {
	if a.Lean || a.Divided || r.fitted == a {
		return // the defaults were noted already, and these need less; or it is not memory that lacks
	}
	t := a.Problem
	widest, most := 0, 0
	for _, p := range a.Levels[len(a.Levels)-1] {
		devices := 0
		for i := range p.Parts {
			widest = max(widest, min(p.Parts[i].Limit, len(p.Parts[i].Devices)))
			devices += len(p.Parts[i].Devices)
		}
		most = max(most, devices/t.Instances())
	}
	tensors := t.TensorDegrees(widest)
	if len(tensors) == 0 {
		return
	}
	tensor := tensors[len(tensors)-1]
	across := tensor
	if most/tensor < 2 && t.Asked.Tensor == 0 {
		across = 1
	}
	stages := min(most/across, int(t.Model.Architecture.Layers))
	if n := t.Asked.Stages; n > 0 {
		stages = n
	}
	one := shape.Shape{Tensor: 1, Stages: 1, Data: max(1, t.Asked.Data), Expert: max(1, t.Asked.Expert), Context: t.Asked.Context}
	if t.Asked.Tensor <= 1 && t.Asked.Stages <= 1 {
		r.add(a, one)
	}
	if one.Tensor = tensor; tensor > 1 && t.Asked.Stages <= 1 {
		r.add(a, one)
	}
	if one.Tensor, one.Stages = across, stages; stages > 1 {
		r.add(a, one)
	}
}

func (r *Rejections) add(a *shape.Tier, s shape.Shape) {
	r.entries = append(r.entries, rejection{a, s})
}

// addMissed notes the candidates that fit in memory and miss a limit.
func (r *Rejections) addMissed(a *shape.Tier, candidates []*shape.Candidate) {
	for _, c := range candidates {
		if c.Verdict == shape.Yes {
			continue
		}
		r.fitted = a
		r.missed = append(r.missed, missedCandidate{c.MissedBy(), v1alpha1.RejectedPlan{
			Strategy: words.Shorten(a.Title(c)+" "+string(a.Weights), 64), Reason: shape.ReasonLimit, Message: words.Shorten(c.Why(), 512),
		}})
	}
}

// nearest returns the plans that miss the limits by least, one for each title, up to a number.
func (r *Rejections) nearest(most int) []v1alpha1.RejectedPlan {
	slices.SortStableFunc(r.missed, func(a, b missedCandidate) int { return cmp.Compare(a.by, b.by) })
	var plans []v1alpha1.RejectedPlan
	seen := map[string]bool{}
	for i := range r.missed {
		p := r.missed[i].plan
		if !seen[p.Strategy] && len(plans) < most {
			seen[p.Strategy] = true
			plans = append(plans, p)
		}
	}
	return plans
}

// maxLate bounds how many candidates that miss a limit are listed.
const maxLate = 8

// MaxRejected is the API's bound of ShardingPlanSpec.Rejected.
const MaxRejected = 16

// List returns the plans that came nearest, as many as the API takes.
func (r *Rejections) List() []v1alpha1.RejectedPlan {
	if r == nil {
		return nil
	}
	plans := r.nearest(maxLate)
	for _, e := range r.entries[:min(len(r.entries), MaxRejected-len(plans))] {
		if p, ok := e.explain(); ok && !slices.Contains(plans, p) { // caches in BF16 and in FP16 are as large
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
	t := e.tier.Problem
	f := e.tier.Footprint(-1, e.shape)
	if f == nil || e.shape.Devices() > 1 && !e.joins() {
		return v1alpha1.RejectedPlan{}, false
	}
	plan := v1alpha1.RejectedPlan{Strategy: words.Shorten(t.Summary(e.shape, t.Copies)+" "+string(e.tier.Weights), 64), Reason: shape.ReasonTooLarge}
	if e.shape.Stages > 1 {
		need, free, devices := f.Together(e.shape), int64(0), 0
		for _, p := range e.tier.Levels[len(e.tier.Levels)-1] {
			caps := p.GroupCaps(e.shape.Tensor, e.shape.Stages)
			sum := int64(0)
			for _, c := range caps {
				sum += c * int64(e.shape.Tensor)
			}
			if sum >= free {
				free, devices = sum, len(caps)*e.shape.Tensor
			}
		}
		plan.Message = fmt.Sprintf("%s need %s together; the %d largest free devices of one vendor offer %s, and each stage needs whole layers",
			words.Counted(e.shape.Devices(), "device"), words.HumanBytes(need), devices, words.HumanBytes(free))
		if level := t.Require.Level; level != "" && free >= need {
			plan.Message += fmt.Sprintf(" and one value of %s", level)
		}
		return plan, true
	}
	need := f.Bytes(0, f.Layers)
	fitting, best := 0, int64(0)
	for _, p := range e.tier.Levels[len(e.tier.Levels)-1] {
		n := 0
		for _, c := range p.GroupCaps(e.shape.Tensor, t.Instances()) {
			best = max(best, c)
			if c >= need {
				n++
			}
		}
		fitting = max(fitting, n)
	}
	place := "the largest free device"
	if e.shape.Tensor > 1 {
		place = fmt.Sprintf("each device of the best free group of %d", e.shape.Tensor)
	}
	if best == 0 {
		plan.Message = fmt.Sprintf("a device needs %s (%s); no %d free devices are on one island", words.HumanBytes(need), shape.UseText(f.PerDevice(0, f.Layers)), e.shape.Tensor)
		return plan, true
	}
	if fitting >= t.Instances() { // it fits, and what else it lacks is listed
		return v1alpha1.RejectedPlan{}, false
	}
	if fitting > 0 {
		plan.Reason = shape.ReasonTooFewDevices
		plan.Message = fmt.Sprintf("only %d of %d fit", fitting, t.Instances())
		return plan, true
	}
	plan.Message = fmt.Sprintf("a device needs %s (%s); %s offers %s", words.HumanBytes(need), shape.UseText(f.PerDevice(0, f.Layers)), place, words.HumanBytes(best))
	return plan, true
}

// joins says whether any two of the devices can be ranks of one group: partitions of a device cannot.
func (e *rejection) joins() bool {
	pools := e.tier.Levels[len(e.tier.Levels)-1]
	return slices.ContainsFunc(pools, func(p *shape.Pool) bool {
		return slices.ContainsFunc(p.Parts, func(part shape.Part) bool { return !e.tier.Problem.Classes[part.Class].Apart() })
	})
}
