package plan

import (
	"cmp"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
)

// mostAlternatives is how many other plans are listed that would also do.
const mostAlternatives = 3

// alternatives are the best candidates that were not taken and could be placed, each with what it loses, and why the next
// smaller shape was not taken.
func (a *attempt) alternatives(chosen *candidate, candidates []*candidate) []v1alpha1.RejectedPlan {
	if chosen == nil || chosen.lane.class < 0 {
		return nil
	}
	plans := make([]v1alpha1.RejectedPlan, 0, mostAlternatives+1)
	seen := append(make([]string, 0, mostAlternatives+1), a.title(chosen))
	add := func(c *candidate) {
		if title := a.title(c); !slices.Contains(seen, title) && a.placeable(c) {
			seen = append(seen, title)
			plans = append(plans, a.loss(c, chosen, title))
		}
	}
	ranked := rank(a.task, keeping(candidates))
	for c := ranked.next(); c != nil && len(plans) < mostAlternatives; c = ranked.next() {
		if c != chosen {
			add(c)
		}
	}
	for _, c := range a.task.nearest(candidates) {
		if len(plans) < mostAlternatives {
			add(c)
		}
	}
	if p, ok := a.smaller(chosen, candidates); ok && !slices.ContainsFunc(plans, func(other v1alpha1.RejectedPlan) bool { return other.Strategy == p.Strategy }) {
		plans = append(plans, p)
	}
	return plans
}

// nearest returns the candidates that miss a limit, the smallest miss first.
func (t *task) nearest(candidates []*candidate) []*candidate {
	if !t.limited() {
		return nil
	}
	var late []*candidate
	for _, c := range candidates {
		if c.missed != noLimit {
			late = append(late, c)
		}
	}
	slices.SortStableFunc(late, func(x, y *candidate) int { return cmp.Compare(t.missedBy(x), t.missedBy(y)) })
	return late
}

// placeable says whether all copies could be placed. For equal groups that may be anywhere, the check of their number,
// which every candidate passed, is enough.
func (a *attempt) placeable(c *candidate) bool {
	if c.ends != nil && len(c.lane.pool.zones) == 0 {
		return true
	}
	_, ok := a.place(c, a.task.copies)
	return ok
}

// smaller says why the shape that is one step smaller than the chosen one, on the same devices, was not taken: fewer
// stages or a narrower tensor group, whichever has more devices.
func (a *attempt) smaller(chosen *candidate, candidates []*candidate) (v1alpha1.RejectedPlan, bool) {
	next, ok := a.nextSmaller(chosen)
	if !ok {
		return v1alpha1.RejectedPlan{}, false
	}
	for _, c := range candidates {
		if c.attempt == a && c.lane == next.lane && c.shape == next.shape {
			return a.loss(c, chosen, a.title(c)), a.placeable(c)
		}
	}
	next.prints = a.footprint(next.lane.class, next.shape)
	if next.prints == nil {
		return v1alpha1.RejectedPlan{}, false
	}
	offer := next.lane.caps(next.group(), a.task.copies, next.prints.layers)[0]
	if next.prints.evenly(next.stages, offer) != nil {
		return v1alpha1.RejectedPlan{}, false
	}
	p := v1alpha1.RejectedPlan{Strategy: a.title(next), Reason: ReasonTooLarge}
	f := next.prints
	if next.stages == 1 {
		p.Message = "a device needs " + words.HumanBytes(f.bytes(0, f.layers)) + " (" + uses(f.perDevice(0, f.layers)) + ") and offers " + words.HumanBytes(offer) + " at most"
		return p, true
	}
	p.Message = words.Counted(next.devices(), "device") + " need " + words.HumanBytes(f.together(next.shape)) + " together and offer " +
		words.HumanBytes(offer*int64(next.devices())) + " at most, and each stage needs whole layers"
	return p, true
}

// nextSmaller is the shape of an instance that is one step smaller than a candidate's.
func (a *attempt) nextSmaller(c *candidate) (*candidate, bool) {
	var best *candidate
	try := func(tensor, stages int) {
		for _, d := range a.choices(c.lane) {
			if d.tensor != tensor || d.data != c.data || d.inside != c.inside || best != nil && best.devices() >= tensor*stages {
				continue
			}
			best = &candidate{shape: d.shape(), lane: c.lane, inside: d.inside}
			best.stages = stages
		}
	}
	if c.stages > 1 && a.task.asked.stages == 0 {
		try(c.tensor, c.stages-1)
	}
	if narrower := a.task.tensors(c.tensor - 1); c.tensor > 1 && a.task.asked.tensor == 0 && len(narrower) > 0 {
		try(narrower[len(narrower)-1], c.stages)
	}
	return best, best != nil
}

// worse is by which part of the chosen one's figure a candidate is worse: tokens per second fall, times and prices rise.
func (t *task) worse(c, chosen *candidate) float64 {
	if t.workload.Training == nil && t.objective() == v1alpha1.ObjectiveThroughput {
		return 1 - chosen.value/c.value
	}
	return c.value/chosen.value - 1
}

// loss says what a candidate of a title loses against the chosen one.
func (a *attempt) loss(c, chosen *candidate, title string) v1alpha1.RejectedPlan {
	t := a.task
	p := v1alpha1.RejectedPlan{Strategy: title, Reason: ReasonWorse}
	if c.missed != noLimit {
		p.Reason, p.Message = ReasonLimit, t.missedText(c)
		return p
	}
	if c.total() > chosen.total() && (c.value <= chosen.value || !c.judged) {
		p.Reason = ReasonMoreDevices
	}
	text := make(wording, 0, 256).counted(c.total(), "device").text(" a copy instead of ").number(chosen.total())
	if c.judged && chosen.judged {
		text = t.valueText(text.text("; "), c).text(" instead of ")
		text = t.worseText(t.valueText(text, chosen), t.worse(c, chosen))
		text = t.timesText(text, c, chosen)
	}
	p.Message = text.String()
	return p
}

// worseText is a part by which something is worse; nothing where it rounds to 0.
func (t *task) worseText(text wording, worse float64) wording {
	switch {
	case worse >= 0.0005:
		return text.text(" (").fixed(worse*100, 1).text(" % worse)")
	case worse <= -0.0005:
		return text.text(" (").fixed(-worse*100, 1).text(" % better)")
	default:
		return text
	}
}

// timesText is the times and the price of a candidate beside those of the chosen one.
func (t *task) timesText(text wording, c, chosen *candidate) wording {
	if t.workload.Training != nil {
		return text
	}
	text = text.text("; TTFT ").fixed(c.times.TTFT*1e3, 0).text(" ms instead of ").fixed(chosen.times.TTFT*1e3, 0)
	text = text.text("; TPOT ").fixed(c.times.TPOT*1e3, 1).text(" ms instead of ").fixed(chosen.times.TPOT*1e3, 1)
	mine, theirs := t.priceOf(c), t.priceOf(chosen)
	if t.objective() != v1alpha1.ObjectiveCost && mine > 0 && theirs > 0 {
		text = text.text("; ").fixed(mine, 2).text(" USD instead of ").fixed(theirs, 2).text(" for a million tokens")
	}
	return text
}

// priceOf is what a million tokens cost in USD; 0 where there is no price.
func (t *task) priceOf(c *candidate) float64 {
	hour, ok := t.price(c.lane.class)
	if !ok || c.times.OutputTokensPerSecond <= 0 {
		return 0
	}
	return float64(hour.MicroUSDPerHour) / 1e6 * float64(c.total()) / 3600 / c.times.OutputTokensPerSecond * 1e6
}

// valueText is what the objective looks at.
func (t *task) valueText(text wording, c *candidate) wording {
	switch {
	case t.workload.Training != nil:
		return text.digits(c.step, 3).text(" s a step")
	case t.objective() == v1alpha1.ObjectiveLatency:
		return text.digits(c.value, 3).text(" s for an answer of ").number(int(t.output())).text(" tokens")
	case t.objective() == v1alpha1.ObjectiveCost && c.price > 0:
		return text.fixed(float64(c.price)/1e6, 2).text(" USD for a million tokens")
	default:
		return text.fixed(c.times.OutputTokensPerSecond/float64(c.total()), 0).text(" tokens/s a device")
	}
}
