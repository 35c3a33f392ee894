package cost

import (
	"math"

	"github.com/rankwright/rankwright/pkg/engine"
)

// UsualExpertRanks is how many ranks share out whole experts in the tables at most. What their fullest rank has more than the mean is in the
// constants that were fitted to them, so that only what more ranks add to it is counted.
const UsualExpertRanks = engine.UnbalancedExpertRanks

// skew is how far the loads of ranks deviate from their mean, as a share of it, beyond what chance does to the tokens of a step, where the engine
// balances experts. On 36 ranks that share 288 places of DeepSeek-R1's experts a load deviates by 53.98 of 1024 tokens in the mean over
// layers; chance makes 32 of it. The fullest has 11.5 % more than the mean there, which 1 + fullest(36) x 53.98 / 1024 = 1.111 comes near to.
// Without the balancer, in turn, it is 156 % more on 32 ranks. Source:
// https://github.com/NVIDIA/TensorRT-LLM/blob/main/examples/wide_ep/ep_load_balancer/README.md
const skew = 0.0424

// fullest returns by how many standard deviations the largest of n normal numbers exceeds their mean. Source: Blom, Statistical Estimates and
// Transformed Beta-Variables, 1958.
func fullest(n float64) float64 {
	return math.Sqrt2 * math.Erfinv(2*(n-0.375)/(n+0.25)-1)
}

// uneven is how much more than the mean the fullest of many expert ranks has. The zero value adds nothing.
type uneven struct{ ranks, fullest, usual float64 }

func unevenOver(ranks float64) uneven {
	if ranks <= UsualExpertRanks {
		return uneven{}
	}
	return uneven{ranks, fullest(ranks), fullest(UsualExpertRanks)}
}

// of returns the load of the fullest rank over that of the fullest of UsualExpertRanks, as shares of their means, where so many visits to
// experts are spread over the ranks. Tokens choose experts at random, so that fewer tokens a rank are spread less evenly.
func (u *uneven) of(visits float64) float64 {
	if u.ranks == 0 {
		return 1
	}
	deviation := math.Sqrt(skew*skew + u.ranks/visits)
	return (1 + u.fullest*deviation) / (1 + u.usual*deviation)
}
