package calibration

import (
	"cmp"
	"math"
	"slices"

	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/tools/fit/truth"
)

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
	Groups   int
	Near     float64 // share of groups in which the choice is the best or within 3 % of it
	Regret   float64 // mean of what the choice is slower than the best
	Pairs    int     // pairs at least 5 % apart
	Ordered  float64 // share of them that is ordered right
	Smallest float64 // Regret of choosing the fewest devices
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
		estimator := c.Estimator(o.Family)
		if groups[o.Group] == nil {
			order = append(order, o.Group)
		}
		n := float64(o.Devices)
		groups[o.Group] = append(groups[o.Group], candidate{o.Measured / n, o.By(estimator) / n, n})
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

// Kind is a quantity of a table.
type Kind struct {
	Table    string
	Quantity truth.Quantity
}

// ErrorsByKind are |estimate over measurement - 1| by table and quantity, of the observations that keep returns true for.
func ErrorsByKind(observations []truth.Observation, c *cost.Calibration, keep func(*truth.Observation) bool) map[Kind][]float64 {
	list := map[Kind][]float64{}
	for i := range observations {
		o := &observations[i]
		if !keep(o) || o.Reported {
			continue
		}
		kind := Kind{o.Table, o.Quantity}
		list[kind] = append(list[kind], math.Abs(o.By(c.Estimator(o.Family))/o.Measured-1))
	}
	return list
}
