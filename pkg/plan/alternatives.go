package plan

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// mostAlternatives is how many other plans are listed that would also do.
const mostAlternatives = 3

// Reasons of plans that were not taken though they would fit.
const (
	// ReasonWorse: it is worse in what the placement asks for.
	ReasonWorse = "Worse"
	// ReasonMoreDevices: it takes more devices and gains too little by them.
	ReasonMoreDevices = "MoreDevices"
	// ReasonLimit: it does not keep a limit.
	ReasonLimit = "Limit"
)

// alternatives are the best candidates that were not taken, each with what it loses.
func (a *attempt) alternatives(chosen *candidate, candidates []*candidate) []v1alpha1.RejectedPlan {
	if chosen == nil || chosen.lane.class < 0 {
		return nil
	}
	var plans []v1alpha1.RejectedPlan
	seen := []string{a.title(chosen)}
	add := func(c *candidate) {
		if title := a.title(c); !slices.Contains(seen, title) && len(plans) < mostAlternatives {
			seen = append(seen, title)
			plans = append(plans, a.loss(c, chosen))
		}
	}
	ranked := ranking{a.task, keeping(candidates)}
	for c := ranked.next(); c != nil && len(plans) < mostAlternatives; c = ranked.next() {
		if c != chosen {
			add(c)
		}
	}
	for _, c := range candidates {
		if c.missed != noLimit {
			add(c)
		}
	}
	return plans
}

// title is the degrees and the product.
func (a *attempt) title(c *candidate) string {
	return clip(fmt.Sprintf("%s on %s", a.task.summary(c.shape, 1), a.task.cluster.classes[c.lane.class].name()), 64)
}

// loss says what a candidate loses against the chosen one.
func (a *attempt) loss(c, chosen *candidate) v1alpha1.RejectedPlan {
	t := a.task
	p := v1alpha1.RejectedPlan{Strategy: a.title(c), Reason: ReasonWorse}
	if c.missed != noLimit {
		p.Reason, p.Message = ReasonLimit, t.missedText(c)
		return p
	}
	if c.total() > chosen.total() && (c.value <= chosen.value || !c.judged) {
		p.Reason = ReasonMoreDevices
	}
	p.Message = fmt.Sprintf("%s a copy instead of %d", v1alpha1.Counted(c.total(), "device"), chosen.total())
	if !c.judged || !chosen.judged {
		return p
	}
	p.Message += "; " + t.valueText(c) + " instead of " + t.valueText(chosen)
	if worse := c.value/chosen.value - 1; worse >= 0.0005 {
		p.Message += fmt.Sprintf(" (%.1f %% worse)", worse*100)
	} else if worse <= -0.0005 {
		p.Message += fmt.Sprintf(" (%.1f %% better)", -worse*100)
	}
	return p
}

// valueText is what the objective looks at.
func (t *task) valueText(c *candidate) string {
	switch {
	case t.workload.Training != nil:
		return fmt.Sprintf("%.3g s a step", c.step)
	case t.objective() == v1alpha1.ObjectiveLatency:
		return fmt.Sprintf("%.3g s for an answer of %d tokens", c.value, t.output())
	case t.objective() == v1alpha1.ObjectiveCost && c.price > 0:
		return fmt.Sprintf("%.2f USD for a million tokens", float64(c.price)/1e6)
	default:
		return fmt.Sprintf("%.0f tokens/s a device", c.times.OutputTokensPerSecond/float64(c.total()))
	}
}

// missedText says which limits are not kept, and by how much.
func (t *task) missedText(c *candidate) string {
	if c.missed == limitUnknown {
		return "the rates of the devices are not known, so whether the limits are kept is not either"
	}
	in := t.workload.Inference
	var parts []string
	if limit := in.MaxTTFTMillis; limit != nil && c.times.TTFT*1e3 > float64(*limit) {
		parts = append(parts, fmt.Sprintf("TTFT %.0f ms at %s, %s above the limit of %d ms", c.times.TTFT*1e3,
			v1alpha1.Counted(max(1, in.MaxSequences), "sequence"), excess(c.times.TTFT, *limit), *limit))
	}
	if limit := in.MaxTPOTMillis; limit != nil && c.times.TPOT*1e3 > float64(*limit) {
		parts = append(parts, fmt.Sprintf("TPOT %.1f ms at %s, %s above the limit of %d ms", c.times.TPOT*1e3,
			v1alpha1.Counted(max(1, in.MaxSequences), "sequence"), excess(c.times.TPOT, *limit), *limit))
	}
	return strings.Join(parts, "; ")
}

// excess is how far some seconds are above a limit in milliseconds.
func excess(seconds float64, limit int32) string {
	above := seconds*1e3/float64(limit) - 1
	if above < 0.01 {
		return "less than 1 %"
	}
	return fmt.Sprintf("%.0f %%", above*100)
}

// missedBy is by what factor a candidate misses the limit that it misses most; infinite where it is not known.
func (t *task) missedBy(c *candidate) float64 {
	if c.missed == limitUnknown {
		return math.Inf(1)
	}
	in, most := t.workload.Inference, 0.0
	if limit := in.MaxTTFTMillis; limit != nil {
		most = max(most, c.times.TTFT*1e3/float64(*limit))
	}
	if limit := in.MaxTPOTMillis; limit != nil {
		most = max(most, c.times.TPOT*1e3/float64(*limit))
	}
	return most
}
