package cost

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
)

// Correction is what measurements near a query differ by from what the constants of its family give: natural logarithms of factors. Pace is that
// of the time per output token, by whose inverse tokens per second are corrected, First that of the time to the first token. Rate is that of the time
// in which tokens per second are counted, over Pace.
type Correction struct{ Pace, First, Rate float64 }

func (c *Correction) of(t Times) Times {
	if *c == (Correction{}) {
		return t
	}
	pace := math.Exp(c.Pace)
	return Times{TTFT: t.TTFT * math.Exp(c.First), TPOT: t.TPOT * pace, OutputTokensPerSecond: t.OutputTokensPerSecond / (pace * math.Exp(c.Rate))}
}

// Point is a load of a cell, and the mean logarithms of what was measured there over what the constants give.
type Point struct {
	// Load is tokens in and out of a request, and requests at a time.
	Load [3]float64
	// Pace is of Paces measurements of the time per output token or of output tokens per second, First of Firsts ones of the time to the first token.
	Pace, First   float64
	Paces, Firsts int
}

// MarshalJSON writes a point as a list of its numbers.
func (p Point) MarshalJSON() ([]byte, error) {
	return json.Marshal([]float64{p.Load[0], p.Load[1], p.Load[2], p.Pace, float64(p.Paces), p.First, float64(p.Firsts)})
}

// UnmarshalJSON reads a list of numbers.
func (p *Point) UnmarshalJSON(data []byte) error {
	var n []float64
	if err := json.Unmarshal(data, &n); err != nil {
		return err
	}
	if len(n) != 7 {
		return fmt.Errorf("a point has %d numbers, want 7", len(n))
	}
	*p = Point{Load: [3]float64(n[:3]), Pace: n[3], Paces: int(n[4]), First: n[5], Firsts: int(n[6])}
	return nil
}

// position is where a query lies among measurements: logarithms to base 2 of its degrees and load, with a scale each, so that a distance of 1 is the
// tensor ranks, the stages or the requests at a time doubled, or experts shared out or not. Attention data ranks doubled and weights of half the bits are 2, the tokens of
// a request doubled 0.7. Chosen among a few by the errors of cells, models and choices that were left out.
type position struct {
	degrees [6]float64
	load    [3]float64
}

func positionOf(f *formats, r *Reach, load [3]float64) position {
	bytes := f.linear
	if f.experts > 0 {
		bytes = f.experts
	}
	shared := 0.0
	if r[ofExperts] > 1 {
		shared = 1
	}
	log := func(n int) float64 { return math.Log2(float64(max(1, n))) }
	return position{
		[6]float64{log(r[ofTensor]), log(r[ofStages]), 2 * log(r[ofData]), shared, log(r[ofDecode]) + log(r[ofIslands]), -2 * math.Log2(bytes)},
		[3]float64{math.Log2(max(1, load[2])), perLength * math.Log2(max(1, load[0])), perLength * math.Log2(max(1, load[1]))},
	}
}

// neighbours are what was measured of a subject, by degrees: the distance of those is computed once for all of their loads.
type neighbours struct {
	groups []group
	// mean is that of all, drawn to no correction.
	mean logarithms
}

// group is the loads that were measured of some degrees.
type group struct {
	degrees [6]float64
	list    []neighbour
}

// logarithms are of the pace and of the first token.
type logarithms [2]float64

// neighbour is the mean of so many measurements at a load.
type neighbour struct {
	load          [3]float64
	value, counts logarithms
}

const (
	// ofNothing is how many measurements of a subject weigh as much as knowing nothing, which is no correction.
	ofNothing = 1
	// ofFar is the weight of the mean of a subject among its neighbours, of which a measurement at the same position weighs 1.
	ofFar = 0.1
	// farthest is the square of the distance from which on a neighbour does not count.
	farthest = 12
	// perLength is the distance of the tokens of a request doubled.
	perLength = 0.7
)

// add adds a point at a position.
func (n *neighbours) add(at position, p *Point) {
	i := slices.IndexFunc(n.groups, func(g group) bool { return g.degrees == at.degrees })
	if i < 0 {
		i, n.groups = len(n.groups), append(n.groups, group{degrees: at.degrees})
	}
	g := &n.groups[i]
	g.list = append(g.list, neighbour{at.load, logarithms{p.Pace, p.First}, logarithms{float64(p.Paces), float64(p.Firsts)}})
}

// shrink sets the mean.
func (n *neighbours) shrink() {
	var sum, counted logarithms
	for _, g := range n.groups {
		for i := range g.list {
			x := &g.list[i]
			for k := range sum {
				sum[k] += x.value[k] * x.counts[k]
				counted[k] += x.counts[k]
			}
		}
	}
	for k := range sum {
		n.mean[k] = sum[k] / (counted[k] + ofNothing)
	}
}

// near returns the mean of what was measured, weighted by a normal curve over the distance (Nadaraya and Watson, 1964), drawn to the mean of all.
func (n *neighbours) near(at *position) Correction {
	var sum logarithms
	weights := logarithms{ofFar, ofFar}
	for i := range n.groups {
		g := &n.groups[i]
		apart := 0.0
		for j, x := range g.degrees {
			apart += (x - at.degrees[j]) * (x - at.degrees[j])
		}
		if apart >= farthest {
			continue
		}
		for j := range g.list {
			x := &g.list[j]
			a, b, c := x.load[0]-at.load[0], x.load[1]-at.load[1], x.load[2]-at.load[2]
			distance := apart + a*a + b*b + c*c
			if distance >= farthest {
				continue
			}
			near := normal(distance)
			for k := range sum {
				w := x.counts[k] * near
				sum[k] += w * (x.value[k] - n.mean[k])
				weights[k] += w
			}
		}
	}
	return Correction{Pace: n.mean[0] + sum[0]/weights[0], First: n.mean[1] + sum[1]/weights[1]}
}

// perUnit is how many entries the table of the normal curve has for each unit of the square of a distance.
const perUnit = 32

// curve is exp(-d/2) at squares of distances d.
var curve = func() (table [farthest*perUnit + 1]float64) {
	for i := range table {
		table[i] = math.Exp(-float64(i) / perUnit / 2)
	}
	return table
}()

// normal returns exp(-d/2) for a d from 0 to farthest, to 2e-10: the nearest entry of a table, times the first terms of the series for what is left.
func normal(d float64) float64 {
	i := int(d*perUnit + 0.5)
	t := (d - float64(i)/perUnit) / 2
	return curve[i] * (1 - t*(1-t*(0.5-t/6)))
}

// correction returns what measurements of the query's model on its device with its engine say; nothing where there are none, and for stages on
// unequal devices.
func (e *Estimator) correction(q *Query) Correction {
	if e.known == nil || len(q.Stages) > 0 {
		return Correction{}
	}
	of := e.known.subjects()[subject{q.Profile.makeup(), q.Device.Product}]
	if of == nil {
		return Correction{}
	}
	f, r := q.Profile.formats(), q.reach()
	at := positionOf(&f, &r, q.Workload.Load())
	return of.near(&at)
}
