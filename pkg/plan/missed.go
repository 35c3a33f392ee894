package plan

import (
	"fmt"
	"math"
	"strings"

	"github.com/rankwright/rankwright/internal/words"
)

// missedText says which limits are not kept, and by how much.
func (t *task) missedText(c *candidate) string {
	if c.missed == limitUnknown {
		return "the rates of the devices are not known, so whether the limits are kept is not either"
	}
	in := t.workload.Inference
	var parts []string
	if limit := in.MaxTTFTMillis; limit != nil && c.times.TTFT*1e3 > float64(*limit) {
		parts = append(parts, fmt.Sprintf("TTFT %.0f ms at %s, %s above the limit of %d ms", c.times.TTFT*1e3,
			words.Counted(max(1, in.MaxSequences), "sequence"), excess(c.times.TTFT, *limit), *limit))
	}
	if limit := in.MaxTPOTMillis; limit != nil && c.times.TPOT*1e3 > float64(*limit) {
		parts = append(parts, fmt.Sprintf("TPOT %.1f ms at %s, %s above the limit of %d ms", c.times.TPOT*1e3,
			words.Counted(max(1, in.MaxSequences), "sequence"), excess(c.times.TPOT, *limit), *limit))
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

// missedBy returns the factor by which a candidate exceeds the limit that it misses most; infinite where its times are
// not known.
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
