package shape

import (
	"fmt"
	"math"
	"strings"

	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/engine"
)

// Verdict says whether a shape can run on devices, or why not.
type Verdict int

const (
	// Yes is said of what fits in memory and keeps the limits.
	Yes Verdict = iota
	// NotDivided is said where the model does not divide so, or the engine cannot run it so.
	NotDivided
	// TooLarge is said where a stage needs more than the devices offer.
	TooLarge
	// LateTTFT is said of what misses the limit of the time to the first token.
	LateTTFT
	// LateTPOT is said of what misses the limit of the time of each further token.
	LateTPOT
	// TimesUnknown is said where there are limits, and the rates of the devices are not known.
	TimesUnknown
)

// On looks at a shape on groups of devices of a flavor that offer so many bytes for each device, falling, as many as the copies
// have stages. Its times are left to Evaluate.
func (a *Tier) On(l *Flavor, d Degrees, stages int, offers []int64) Candidate {
	c := Candidate{Shape: d.Shape(), Flavor: l, Tier: a, Inside: d.Inside}
	c.Stages = stages
	c.Verdict = a.fit(&c, offers)
	return c
}

// fit finds the memory of a candidate and where its stages end. For unequal devices the ends are found with them.
func (a *Tier) fit(c *Candidate, offers []int64) Verdict {
	if !a.Problem.Runs(c.Shape) {
		return NotDivided
	}
	if c.Footprint = a.Footprint(c.Flavor.Class, c.Shape); c.Footprint == nil {
		return NotDivided
	}
	least := offers[len(offers)-1]
	c.offer = offers[0]
	unequal := func() bool { return offers[0] != least && c.Footprint.MayHold(blocksOf(offers, c.Stages)) }
	switch cuts := a.Problem.Cuts(); {
	case cuts != engine.CutAnywhere && c.Stages > 1:
		if c.Ends = c.Footprint.cutFor(cuts, blocksOf(offers, c.Stages)); c.Ends == nil {
			return TooLarge
		}
	case a.sketch:
		if c.Stages > c.Footprint.Layers || c.Footprint.stagesOf(least) > c.Stages && !unequal() {
			return TooLarge
		}
		return Yes
	default:
		if c.Ends = c.Footprint.evenly(c.Stages, least); c.Ends == nil && !unequal() {
			return TooLarge
		}
	}
	a.Crowd(c, func(int) int64 { return least })
	return Yes
}

// Why says in numbers why a candidate cannot run; empty where it can.
func (c *Candidate) Why() string {
	switch c.Verdict {
	case NotDivided:
		return c.notDivided()
	case TimesUnknown:
		return "the rates of the devices are not known, so whether the limits are kept is not either"
	case TooLarge:
		return c.tooLarge()
	case LateTTFT, LateTPOT:
		return c.late()
	}
	return ""
}

// notDivided says why the engine cannot run the shape or the model has no such layout.
func (c *Candidate) notDivided() string {
	if refused := c.Tier.Problem.refuses(c.Shape); refused != nil {
		return refused.Reason()
	}
	if _, err := c.Tier.count(c.Flavor.Class, c.Shape); err != nil {
		return err.Error()
	}
	return ""
}

// late says which limits are not kept, and by how much.
func (c *Candidate) late() string {
	in := c.Tier.Problem.Workload.Inference
	var parts []string
	if limit := in.MaxTTFTMillis; limit != nil && c.Times.TTFT*1e3 > float64(*limit) {
		parts = append(parts, fmt.Sprintf("TTFT %.0f ms at %s, %s above the limit of %d ms", c.Times.TTFT*1e3,
			words.Counted(max(1, in.MaxSequences), "sequence"), excess(c.Times.TTFT, *limit), *limit))
	}
	if limit := in.MaxTPOTMillis; limit != nil && c.Times.TPOT*1e3 > float64(*limit) {
		parts = append(parts, fmt.Sprintf("TPOT %.1f ms at %s, %s above the limit of %d ms", c.Times.TPOT*1e3,
			words.Counted(max(1, in.MaxSequences), "sequence"), excess(c.Times.TPOT, *limit), *limit))
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

// MissedBy returns the factor by which a candidate exceeds the limit that it misses most; infinite where its times are
// not known.
func (c *Candidate) MissedBy() float64 {
	if c.Verdict == TimesUnknown {
		return math.Inf(1)
	}
	in, most := c.Tier.Problem.Workload.Inference, 0.0
	if limit := in.MaxTTFTMillis; limit != nil {
		most = max(most, c.Times.TTFT*1e3/float64(*limit))
	}
	if limit := in.MaxTPOTMillis; limit != nil {
		most = max(most, c.Times.TPOT*1e3/float64(*limit))
	}
	return most
}

// tooLarge says what the shape needs and what the devices offer.
func (c *Candidate) tooLarge() string {
	f := c.Footprint
	if c.Stages == 1 {
		return "a device needs " + words.HumanBytes(f.Bytes(0, f.Layers)) + " (" + UseText(f.PerDevice(0, f.Layers)) + ") and offers " + words.HumanBytes(c.offer) + " at most"
	}
	return words.Counted(c.Devices(), "device") + " need " + words.HumanBytes(f.Together(c.Shape)) + " together and offer " +
		words.HumanBytes(c.offer*int64(c.Devices())) + " at most, and each stage needs whole layers"
}
