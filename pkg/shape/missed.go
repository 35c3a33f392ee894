package shape

import (
	"fmt"
	"math"
	"strings"

	"github.com/rankwright/rankwright/internal/words"
)

// MissedText says which limits are not kept, and by how much.
func (t *Problem) MissedText(c *Candidate) string {
	if c.Missed == limitUnknown {
		return "the rates of the devices are not known, so whether the limits are kept is not either"
	}
	in := t.Workload.Inference
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
func (t *Problem) MissedBy(c *Candidate) float64 {
	if c.Missed == limitUnknown {
		return math.Inf(1)
	}
	in, most := t.Workload.Inference, 0.0
	if limit := in.MaxTTFTMillis; limit != nil {
		most = max(most, c.Times.TTFT*1e3/float64(*limit))
	}
	if limit := in.MaxTPOTMillis; limit != nil {
		most = max(most, c.Times.TPOT*1e3/float64(*limit))
	}
	return most
}
