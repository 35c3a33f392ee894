package calibration

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/cost/internal/truth"
)

// Errors are |estimate over measurement - 1| of the observations that keep returns true for.
func Errors(observations []truth.Observation, c *cost.Calibration, keep func(*truth.Observation) bool) []float64 {
	var list []float64
	for i := range observations {
		o := &observations[i]
		if !keep(o) {
			continue
		}
		constants := c.Constants(o.Family)
		list = append(list, math.Abs(o.Estimate(&constants)/o.Measured-1))
	}
	return list
}

// Quantile of a list; 0 for an empty one.
func Quantile(list []float64, q float64) float64 {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

// Choice says how well estimates choose among the strategies of each group, by output tokens per second and device.
type Choice struct {
	Groups       int
	Near         float64 // share of groups in which the choice is the best or within 3 % of it
	Regret       float64 // mean of what the choice is slower than the best
	Pairs        int     // pairs at least 5 % apart
	Ordered      float64 // share of them that is ordered right
	SmallestNear float64 // Near and Regret of choosing the fewest devices
	Smallest     float64
}

type candidate struct{ measured, estimated, devices float64 }

// Choose scores the groups with more than one strategy that keep returns true for.
func Choose(observations []truth.Observation, c *cost.Calibration, keep func(*truth.Observation) bool) Choice {
	groups := map[string][]candidate{}
	var order []string
	for i := range observations {
		o := &observations[i]
		if !keep(o) {
			continue
		}
		constants := c.Constants(o.Family)
		if groups[o.Group] == nil {
			order = append(order, o.Group)
		}
		n := float64(o.Devices)
		groups[o.Group] = append(groups[o.Group], candidate{o.Measured / n, o.Estimate(&constants) / n, n})
	}
	var score Choice
	right := 0
	for _, name := range order {
		list := groups[name]
		if len(list) < 2 {
			continue
		}
		score.Groups++
		best := slices.MaxFunc(list, func(a, b candidate) int { return cmp.Compare(a.measured, b.measured) })
		chosen := slices.MaxFunc(list, func(a, b candidate) int { return cmp.Compare(a.estimated, b.estimated) })
		smallest := slices.MinFunc(list, func(a, b candidate) int { return cmp.Compare(a.devices, b.devices) })
		regret := 1 - chosen.measured/best.measured
		score.Regret += regret
		score.Smallest += 1 - smallest.measured/best.measured
		if regret <= 0.03 {
			score.Near++
		}
		pairs, ordered := ordered(list)
		score.Pairs, right = score.Pairs+pairs, right+ordered
	}
	n := float64(max(1, score.Groups))
	score.Near, score.Regret, score.Smallest = score.Near/n, score.Regret/n, score.Smallest/n
	score.Ordered = float64(right) / float64(max(1, score.Pairs))
	return score
}

func ordered(list []candidate) (pairs, right int) {
	for i, a := range list {
		for _, b := range list[:i] {
			if max(a.measured, b.measured) < 1.05*min(a.measured, b.measured) {
				continue
			}
			pairs++
			if (a.measured > b.measured) == (a.estimated > b.estimated) {
				right++
			}
		}
	}
	return pairs, right
}

// Limits says how well estimates choose the shape of an instance under limits of the time per output token.
type Limits struct {
	Choices  int
	Regret   float64 // mean of what the best load of the chosen shape under the limit is slower than the best of all, per device
	Smallest float64 // the same of choosing the fewest devices
}

// load is a row of a shape: time per token and output tokens per second and device.
type load struct{ measured, estimated, measuredRate, estimatedRate float64 }

type shape struct {
	tensor, expert int
}

// ChooseUnder scores the choice of a shape in each group under each limit in seconds that at least one shape meets.
func ChooseUnder(observations []truth.Observation, c *cost.Calibration, limits []float64, keep func(*truth.Observation) bool) Limits {
	groups := map[string]map[shape][]load{}
	var order []string
	for i := range observations {
		o := &observations[i]
		if o.Quantity != truth.TPOT || !keep(o) {
			continue
		}
		if groups[o.Group] == nil {
			groups[o.Group], order = map[shape][]load{}, append(order, o.Group)
		}
		k := shape{o.Query.Strategy.Tensor, o.Query.Strategy.Expert}
		constants := c.Constants(o.Family)
		w, n := o.Query.Workload, float64(o.Devices)
		t := cost.Serve(&o.Query, &constants)
		ttft := observations[i+1].Measured
		groups[o.Group][k] = append(groups[o.Group][k], load{
			measured: o.Measured, estimated: t.TPOT,
			measuredRate:  w.Clients * w.Output / (ttft + (w.Output-1)*o.Measured) / n,
			estimatedRate: w.Clients * w.Output / (t.TTFT + (w.Output-1)*t.TPOT) / n,
		})
	}
	var score Limits
	for _, name := range order {
		for _, limit := range limits {
			score.add(groups[name], limit)
		}
	}
	score.Regret /= float64(max(1, score.Choices))
	score.Smallest /= float64(max(1, score.Choices))
	return score
}

func (s *Limits) add(shapes map[shape][]load, limit float64) {
	if len(shapes) < 2 {
		return
	}
	keys := slices.SortedFunc(maps.Keys(shapes), func(a, b shape) int { return cmp.Or(a.tensor-b.tensor, a.expert-b.expert) })
	best, chosen, estimate := 0.0, 0.0, math.Inf(-1)
	for _, k := range keys {
		measured, estimated, fastest := 0.0, 0.0, math.Inf(1)
		for _, l := range shapes[k] {
			if l.measured <= limit {
				measured = max(measured, l.measuredRate)
			}
			if l.estimated <= limit {
				estimated = max(estimated, l.estimatedRate)
			}
			fastest = min(fastest, l.estimated)
		}
		if estimated == 0 {
			estimated = -fastest
		}
		if estimated > estimate {
			estimate, chosen = estimated, measured
		}
		best = max(best, measured)
	}
	if best == 0 {
		return
	}
	smallest := 0.0
	for _, l := range shapes[keys[0]] {
		if l.measured <= limit {
			smallest = max(smallest, l.measuredRate)
		}
	}
	s.Choices++
	s.Regret += 1 - chosen/best
	s.Smallest += 1 - smallest/best
}
