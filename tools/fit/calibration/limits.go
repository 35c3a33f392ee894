package calibration

import (
	"cmp"
	"math"
	"slices"

	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/tools/fit/truth"
)

// Limits says how well estimates choose the shape of an instance under limits of the time per output token.
type Limits struct {
	Choices  int
	Regret   float64 // mean of what the chosen shape delivers less than the best, per device, each at its best load under the limit
	Smallest float64 // the same of choosing the fewest devices
}

// load is what a shape does at a number of clients.
type load struct {
	clients, repetitions float64
	measured, estimated  delivery
}

// delivery is the time per output token in seconds, and output tokens per second and device.
type delivery struct{ seconds, rate float64 }

func measured(l *load) delivery  { return l.measured }
func estimated(l *load) delivery { return l.estimated }

// curve is a shape of a group with its loads in ascending order.
type curve struct {
	group          string
	tensor, expert int
	loads          []load
}

// ChooseUnder scores the choice of a shape in each group under each limit, in seconds, that at least one shape meets.
// Between two loads that were measured, what a shape delivers is interpolated, for measurement and estimate alike, since
// any load can be set. Shapes of a single load are left out.
func ChooseUnder(observations []truth.Observation, c *cost.Calibration, limits []float64, keep func(*truth.Observation) bool) Limits {
	curves := measuredCurves(observations, c, keep)
	var score Limits
	for len(curves) > 0 {
		n := slices.IndexFunc(curves, func(x curve) bool { return x.group != curves[0].group })
		if n < 0 {
			n = len(curves)
		}
		for _, limit := range limits {
			score.add(curves[:n], limit)
		}
		curves = curves[n:]
	}
	n := float64(max(1, score.Choices))
	score.Regret, score.Smallest = score.Regret/n, score.Smallest/n
	return score
}

func measuredCurves(observations []truth.Observation, c *cost.Calibration, keep func(*truth.Observation) bool) []curve {
	var curves []curve
	for i := 0; i+1 < len(observations); i++ {
		o, first := &observations[i], &observations[i+1]
		if o.Quantity != truth.TPOT || first.Quantity != truth.TTFT || !keep(o) {
			continue
		}
		key := curve{group: o.Group, tensor: o.Query.Strategy.Tensor, expert: o.Query.Strategy.Expert}
		at := slices.IndexFunc(curves, func(x curve) bool {
			return x.group == key.group && x.tensor == key.tensor && x.expert == key.expert
		})
		if at < 0 {
			at, curves = len(curves), append(curves, key)
		}
		curves[at].loads = append(curves[at].loads, newLoad(o, first.Measured, c))
	}
	for i := range curves {
		curves[i].merge()
	}
	curves = slices.DeleteFunc(curves, func(x curve) bool { return len(x.loads) < 2 })
	slices.SortStableFunc(curves, func(a, b curve) int {
		return cmp.Or(cmp.Compare(a.group, b.group), a.tensor-b.tensor, a.expert-b.expert)
	})
	return curves
}

func newLoad(o *truth.Observation, ttft float64, c *cost.Calibration) load {
	t := c.Estimator(o.Family).Times(&o.Query)
	clients, output, devices := o.Query.Workload.Clients, o.Query.Workload.Output, float64(o.Devices)
	return load{
		clients: clients, repetitions: 1,
		measured:  delivery{o.Measured, clients * output / (ttft + (output-1)*o.Measured) / devices},
		estimated: delivery{t.TPOT, clients * output / (t.TTFT + (output-1)*t.TPOT) / devices},
	}
}

// merge sorts the loads and takes the mean of repetitions.
func (x *curve) merge() {
	slices.SortStableFunc(x.loads, func(a, b load) int { return cmp.Compare(a.clients, b.clients) })
	merged := x.loads[:0]
	for _, l := range x.loads {
		if n := len(merged); n > 0 && merged[n-1].clients == l.clients {
			m := &merged[n-1]
			m.repetitions++
			m.measured.seconds += (l.measured.seconds - m.measured.seconds) / m.repetitions
			m.measured.rate += (l.measured.rate - m.measured.rate) / m.repetitions
			continue
		}
		merged = append(merged, l)
	}
	x.loads = merged
}

// under is the best rate within the limit, of what is measured or estimated; 0 where none is.
func (x *curve) under(limit float64, of func(*load) delivery) float64 {
	best := 0.0
	var before delivery
	for i := range x.loads {
		p := of(&x.loads[i])
		if p.seconds <= limit {
			best = max(best, p.rate)
		} else if i > 0 && before.seconds <= limit {
			best = max(best, before.rate+(p.rate-before.rate)*(limit-before.seconds)/(p.seconds-before.seconds))
		}
		before = p
	}
	return best
}

// Shape is the degrees of an instance.
type Shape struct{ Tensor, Expert int }

// MeasuredUnder is what the shapes of each group were measured to deliver at most under a limit, per device; those of a
// single load are left out, as in ChooseUnder.
func MeasuredUnder(observations []truth.Observation, c *cost.Calibration, limit float64) map[string]map[Shape]float64 {
	groups := map[string]map[Shape]float64{}
	for _, x := range measuredCurves(observations, c, func(*truth.Observation) bool { return true }) {
		if groups[x.group] == nil {
			groups[x.group] = map[Shape]float64{}
		}
		groups[x.group][Shape{max(1, x.tensor), max(1, x.expert)}] = x.under(limit, measured)
	}
	return groups
}

// add scores one choice. Where no shape is estimated to meet the limit, the fastest is chosen.
func (s *Limits) add(shapes []curve, limit float64) {
	best, chosen, smallest, top := 0.0, 0.0, 0.0, math.Inf(-1)
	for i, x := range shapes {
		got, expected := x.under(limit, measured), x.under(limit, estimated)
		if expected == 0 {
			expected = -x.loads[0].estimated.seconds
		}
		if expected > top {
			top, chosen = expected, got
		}
		if i == 0 {
			smallest = got
		}
		best = max(best, got)
	}
	if len(shapes) < 2 || best == 0 {
		return
	}
	s.Choices++
	s.Regret += 1 - chosen/best
	s.Smallest += 1 - smallest/best
}
