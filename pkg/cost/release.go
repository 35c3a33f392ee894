package cost

import "math"

// betweenReleases is how far the times of two releases of an engine are apart in the same runs: the 87th percentile of the 25 runs of InferenceX that
// were measured with two releases each (vLLM 0.17 and 0.19, SGLang 0.5.6, 0.5.9 and 0.5.10), which a test computes again. These lie weeks apart, so that
// nothing is known of how it grows. They have no tokens per second, which are taken to differ as the time per token does.
var betweenReleases = Spread{TTFT: 1.961, TPOT: 0.380, Throughput: 0.380}

// BetweenReleases is how far the times of two releases of an engine are apart.
func BetweenReleases() Spread { return betweenReleases }

// with returns how far measurements are from estimates where another cause, which does not depend on the first, moves them too: squares of logarithms add.
func (s *Spread) with(other *Spread) Spread {
	both := func(a, b float64) float64 { return math.Exp(math.Hypot(math.Log1p(a), math.Log1p(b))) - 1 }
	return Spread{TTFT: both(s.TTFT, other.TTFT), TPOT: both(s.TPOT, other.TPOT), Throughput: both(s.Throughput, other.Throughput)}
}
