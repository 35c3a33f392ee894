package plan

import (
	"cmp"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/plan/search"
	"github.com/rankwright/rankwright/pkg/shape"
)

// mostAlternatives is how many other plans are listed that would also do.
const mostAlternatives = 3

// alternatives are the best candidates that were not taken and could be placed, each with what it loses, and why the next
// smaller shape was not taken.
func alternatives(a *shape.Tier, chosen *shape.Candidate, candidates []*shape.Candidate) []v1alpha1.RejectedPlan {
	if chosen == nil || chosen.Flavor.Class < 0 {
		return nil
	}
	plans := make([]v1alpha1.RejectedPlan, 0, mostAlternatives+1)
	seen := append(make([]string, 0, mostAlternatives+1), a.Title(chosen))
	add := func(c *shape.Candidate) {
		if title := a.Title(c); !slices.Contains(seen, title) && search.HasRoom(c) {
			seen = append(seen, title)
			plans = append(plans, loss(a, c, chosen, title))
		}
	}
	ranked := search.Rank(a.Problem, shape.KeepingLimits(candidates))
	for c := ranked.Next(); c != nil && len(plans) < mostAlternatives; c = ranked.Next() {
		if c != chosen {
			add(c)
		}
	}
	for _, c := range nearest(a.Problem, candidates) {
		if len(plans) < mostAlternatives {
			add(c)
		}
	}
	if p, ok := smaller(a, chosen, candidates); ok && !slices.ContainsFunc(plans, func(other v1alpha1.RejectedPlan) bool { return other.Strategy == p.Strategy }) {
		plans = append(plans, p)
	}
	return plans
}

// nearest returns the candidates that miss a limit, the smallest miss first.
func nearest(t *shape.Problem, candidates []*shape.Candidate) []*shape.Candidate {
	if !t.Limited() {
		return nil
	}
	var late []*shape.Candidate
	for _, c := range candidates {
		if c.Verdict != shape.Yes {
			late = append(late, c)
		}
	}
	slices.SortStableFunc(late, func(x, y *shape.Candidate) int { return cmp.Compare(x.MissedBy(), y.MissedBy()) })
	return late
}

// smaller says why the shape that is one step smaller than the chosen one, on the same devices, was not taken: fewer
// stages or a narrower tensor group, whichever has more devices.
func smaller(a *shape.Tier, chosen *shape.Candidate, candidates []*shape.Candidate) (v1alpha1.RejectedPlan, bool) {
	d, stages := nextSmaller(a, chosen)
	if stages == 0 {
		return v1alpha1.RejectedPlan{}, false
	}
	l := chosen.Flavor
	most := l.Caps(d.Group(), a.Problem.Copies, int(a.Problem.Model.Architecture.Layers))[0]
	next := a.On(l, d, stages, slices.Repeat([]int64{most}, stages))
	for _, c := range candidates {
		if c.Tier == a && c.Flavor == l && c.Shape == next.Shape {
			return loss(a, c, chosen, a.Title(c)), search.HasRoom(c)
		}
	}
	return v1alpha1.RejectedPlan{Strategy: a.Title(&next), Reason: shape.ReasonTooLarge, Message: next.Why()}, next.Verdict == shape.TooLarge
}

// nextSmaller returns the degrees and the stages of the shape that is one step smaller than a candidate's; 0 stages where there is none.
func nextSmaller(a *shape.Tier, c *shape.Candidate) (next shape.Degrees, stages int) {
	most := 0
	try := func(tensor, n int) {
		for _, d := range a.Degrees(c.Flavor) {
			of := d.Shape()
			if of.Stages = n; d.Tensor == tensor && d.Data == c.Data && d.Inside == c.Inside && (stages == 0 || most < tensor*n) {
				next, stages, most = d, n, of.Devices()
			}
		}
	}
	if c.Stages > 1 && a.Problem.Asked.Stages == 0 {
		try(c.Tensor, c.Stages-1)
	}
	if narrower := a.Problem.TensorDegrees(c.Tensor - 1); c.Tensor > 1 && a.Problem.Asked.Tensor == 0 && len(narrower) > 0 {
		try(narrower[len(narrower)-1], c.Stages)
	}
	return next, stages
}

// worse is by which part of the chosen one's figure a candidate is worse: tokens per second fall, times and prices rise.
func worse(t *shape.Problem, c, chosen *shape.Candidate) float64 {
	if t.Workload.Training == nil && t.Objective() == v1alpha1.ObjectiveThroughput {
		return 1 - chosen.Value/c.Value
	}
	return c.Value/chosen.Value - 1
}

// loss says what a candidate of a title loses against the chosen one.
func loss(a *shape.Tier, c, chosen *shape.Candidate, title string) v1alpha1.RejectedPlan {
	t := a.Problem
	p := v1alpha1.RejectedPlan{Strategy: title, Reason: shape.ReasonWorse}
	if c.Verdict != shape.Yes {
		p.Reason, p.Message = shape.ReasonLimit, c.Why()
		return p
	}
	switch better := c.Value <= chosen.Value; {
	case c.Total() > chosen.Total() && (better || !c.Judged):
		p.Reason = shape.ReasonMoreDevices
	case better && c.Judged && chosen.Judged:
		p.Reason = shape.ReasonAsGood
	}
	text := make(words.Wording, 0, 256).Counted(c.Total(), "device").Text(" a copy instead of ").Number(chosen.Total())
	if c.Judged && chosen.Judged {
		text = valueText(t, text.Text("; "), c).Text(" instead of ")
		text = worseText(valueText(t, text, chosen), worse(t, c, chosen))
		text = timesText(t, text, c, chosen)
	}
	p.Message = text.String()
	return p
}

// worseText is a part by which something is worse; nothing where it rounds to 0.
func worseText(text words.Wording, worse float64) words.Wording {
	switch {
	case worse >= 0.0005:
		return text.Text(" (").Fixed(worse*100, 1).Text(" % worse)")
	case worse <= -0.0005:
		return text.Text(" (").Fixed(-worse*100, 1).Text(" % better)")
	default:
		return text
	}
}

// timesText is the times and the price of a candidate beside those of the chosen one.
func timesText(t *shape.Problem, text words.Wording, c, chosen *shape.Candidate) words.Wording {
	if t.Workload.Training != nil {
		return text
	}
	text = text.Text("; TTFT ").Fixed(c.Times.TTFT*1e3, 0).Text(" ms instead of ").Fixed(chosen.Times.TTFT*1e3, 0)
	text = text.Text("; TPOT ").Fixed(c.Times.TPOT*1e3, 1).Text(" ms instead of ").Fixed(chosen.Times.TPOT*1e3, 1)
	mine, theirs := priceOf(t, c), priceOf(t, chosen)
	if t.Objective() != v1alpha1.ObjectiveCost && mine > 0 && theirs > 0 {
		text = text.Text("; ").Fixed(mine, 2).Text(" USD instead of ").Fixed(theirs, 2).Text(" for a million tokens")
	}
	return text
}

// priceOf is what a million tokens cost in USD; 0 where there is no price.
func priceOf(t *shape.Problem, c *shape.Candidate) float64 {
	hour, ok := t.Price(c.Flavor.Class)
	if !ok || c.Times.OutputTokensPerSecond <= 0 {
		return 0
	}
	return float64(hour.MicroUSDPerHour) / 1e6 * float64(c.Total()) / 3600 / c.Times.OutputTokensPerSecond * 1e6
}

// valueText is what the objective looks at.
func valueText(t *shape.Problem, text words.Wording, c *shape.Candidate) words.Wording {
	switch {
	case t.Workload.Training != nil:
		return text.Digits(c.Step, 3).Text(" s a step")
	case t.Objective() == v1alpha1.ObjectiveLatency:
		return text.Digits(c.Value, 3).Text(" s for an answer of ").Number(int(t.Output())).Text(" tokens")
	case t.Objective() == v1alpha1.ObjectiveCost && c.Price > 0:
		return text.Fixed(float64(c.Price)/1e6, 2).Text(" USD for a million tokens")
	default:
		return text.Fixed(c.Times.OutputTokensPerSecond/float64(c.Total()), 0).Text(" tokens/s a device")
	}
}
