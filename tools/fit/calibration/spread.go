package calibration

import (
	"fmt"
	"hash/fnv"
	"math"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/tools/fit/truth"
)

const (
	parts    = 8    // what is left out by a hash is left out in so many parts
	coverage = 0.87 // of the errors that a spread covers
	// shared is how many errors of its own a family needs before its spread is as much its own as that of its engine, and so
	// on for an engine and for the regime of a family: errors of one group are alike, so that few groups say little.
	shared = 30
)

// scope is what errors are collected for: a family, an engine alone, or everything, under one regime or any.
type scope struct {
	family cost.Family
	regime cost.Regime
}

// anyRegime stands for the errors of both regimes together.
const anyRegime cost.Regime = -1

// scopes returns the scopes that an observation belongs to, the widest first.
func scopes(f cost.Family, regime cost.Regime) [4]scope {
	return [4]scope{{cost.Family{}, anyRegime}, {cost.Family{Engine: f.Engine}, anyRegime}, {f, anyRegime}, {f, regime}}
}

// errorsBy holds the errors of estimates by scope and quantity.
type errorsBy map[scope]map[truth.Quantity][]float64

func (e errorsBy) add(o *truth.Observation, off float64) {
	for _, s := range scopes(o.Family, o.Query.Regime()) {
		if e[s] == nil {
			e[s] = map[truth.Quantity][]float64{}
		}
		e[s][o.Quantity] = append(e[s][o.Quantity], off)
	}
}

// Miss is an observation that was left out, what its estimate rested on without it, and how far that was off, as a factor less 1.
type Miss struct {
	*truth.Observation
	Basis cost.Basis
	Off   float64
}

// scheme is what is left out to find the errors at a basis: all observations with the same key, one key after the other.
type scheme struct {
	basis cost.Basis
	key   func(*truth.Observation) string
}

// schemes say what estimates at each basis do not know: the load or the degrees of a configuration, all of a model, all of an architecture or
// of a family, and for a roofline the architecture and the engine both.
var schemes = []scheme{
	{cost.SameCell, func(o *truth.Observation) string { return eighth(o.Cell) }},
	{cost.SameModel, func(o *truth.Observation) string { return eighth(o.Group) }},
	{cost.SameModel, func(o *truth.Observation) string {
		return eighth(fmt.Sprint(o.Model, o.GPU, o.Family.Engine, o.Weights, o.Query.Strategy))
	}},
	{cost.SameFamily, func(o *truth.Observation) string { return o.Model }},
	{cost.Related, func(o *truth.Observation) string { return o.Family.Architecture }},
	{cost.Related, func(o *truth.Observation) string { return fmt.Sprint(o.Family) }},
}

// LeaveOutAt fits the observations without a part of them in turn, and returns what was left out and whose estimate then rested on the basis
// that the scheme is for, from a basis on. What is estimated may be the observations themselves or others, of which the same part is taken.
func LeaveOutAt(observations, estimated []truth.Observation, from cost.Basis) []Miss {
	var all []Miss
	for _, s := range schemes {
		if s.basis < from {
			continue
		}
		all = append(all, misses(observations, estimated, s.key, func(o *truth.Observation, key string) bool { return s.key(o) == key }, func(b cost.Basis) bool { return b == s.basis })...)
	}
	both := func(o *truth.Observation) string { return o.Family.Architecture + "\n" + string(o.Family.Engine) }
	return append(all, misses(observations, estimated, both, func(o *truth.Observation, key string) bool {
		architecture, engine, _ := strings.Cut(key, "\n")
		return o.Family.Architecture == architecture || string(o.Family.Engine) == engine
	}, func(b cost.Basis) bool { return b == cost.Roofline })...)
}

// Laboratories fits the observations without those of each laboratory in turn, and returns those that were left out and of whose family others
// measured something: how far apart laboratories are that measure the same.
func Laboratories(observations []truth.Observation) []Miss {
	return misses(observations, observations, laboratory, func(o *truth.Observation, key string) bool { return laboratory(o) == key }, func(b cost.Basis) bool { return b <= cost.SameFamily })
}

// laboratory names who measured: MLPerf's scenarios are of one table.
func laboratory(o *truth.Observation) string {
	name, _, _ := strings.Cut(o.Table, " ")
	return name
}

// misses leaves out what is out for each key in turn, and returns the misses of what has the key. Fits run at the same time.
func misses(observations, estimated []truth.Observation, key func(*truth.Observation) string, out func(o *truth.Observation, key string) bool, counts func(cost.Basis) bool) []Miss {
	var keys []string
	for i := range estimated {
		keys = append(keys, key(&estimated[i]))
	}
	slices.Sort(keys)
	keys = slices.Compact(keys)
	found := make([][]Miss, len(keys))
	var group sync.WaitGroup
	running := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i, k := range keys {
		group.Go(func() {
			running <- struct{}{}
			defer func() { <-running }()
			kept := slices.DeleteFunc(slices.Clone(observations), func(o truth.Observation) bool { return out(&o, k) })
			left := slices.DeleteFunc(slices.Clone(estimated), func(o truth.Observation) bool { return key(&o) != k })
			found[i] = slices.DeleteFunc(Missed(kept, left), func(m Miss) bool { return !counts(m.Basis) })
		})
	}
	group.Wait()
	return slices.Concat(found...)
}

// Missed estimates observations with constants that are fitted to others.
func Missed(kept, left []truth.Observation) []Miss {
	if len(kept) == 0 {
		return nil
	}
	return Off(Calibrate(kept), left)
}

// Calibrate fits constants to observations, and knows what of them these leave.
func Calibrate(observations []truth.Observation) *cost.Calibration {
	c := Fit(observations)
	cells, err := cost.NewCells(CellsOf(observations, c))
	if err != nil {
		panic(err) // models of observations are in the catalogue
	}
	return c.With(cells)
}

// Off estimates observations with constants.
func Off(c *cost.Calibration, left []truth.Observation) []Miss {
	list := make([]Miss, len(left))
	for i := range left {
		o := &left[i]
		e := c.Estimator(o.Family)
		list[i] = Miss{o, BasisOf(e, o), math.Exp(math.Abs(math.Log(o.By(e)/o.Measured))) - 1}
	}
	return list
}

// BasisOf is what an estimate of an observation rests on.
func BasisOf(e *cost.Estimator, o *truth.Observation) cost.Basis { return e.Basis(&o.Query) }

// SetWidths sets how far measurements are from estimates at each basis, of each family that was measured and of all others. No basis is
// narrower than a nearer one. Beyond models and products that were measured, where nobody knows how a service is set up, none is narrower than
// what is between laboratories: there are few, so that the one that is furthest off counts.
func SetWidths(c *cost.Calibration, list, laboratories []Miss) {
	at := errorsAt{between: map[truth.Quantity]float64{}}
	for i := range at.errors {
		at.errors[i] = errorsBy{}
	}
	for _, m := range list {
		at.errors[m.Basis].add(m.Observation, m.Off)
	}
	apart := map[string]map[truth.Quantity][]float64{}
	for _, m := range laboratories {
		of := laboratory(m.Observation)
		if apart[of] == nil {
			apart[of] = map[truth.Quantity][]float64{}
		}
		apart[of][m.Quantity] = append(apart[of][m.Quantity], m.Off)
	}
	for _, errors := range apart {
		for quantity, list := range errors {
			if len(list) >= shared {
				at.between[quantity] = max(at.between[quantity], math.Round(Quantile(list, coverage)*1e3)/1e3)
			}
		}
	}
	for i := range c.Families {
		c.Families[i].Widths = at.widths(c.Families[i].Family, cost.SameCell)
	}
	c.Unmeasured = at.widths(cost.Family{}, cost.Related)
}

// errorsAt holds errors by basis, and what is between laboratories.
type errorsAt struct {
	errors  [cost.Roofline + 1]errorsBy
	between map[truth.Quantity]float64
}

// widths returns the widths of a family from a basis on.
func (at *errorsAt) widths(f cost.Family, from cost.Basis) cost.Widths {
	var w cost.Widths
	for regime := range w[0] {
		var last cost.Spread
		for basis := from; basis <= cost.Roofline; basis++ {
			last = cost.Spread{
				TTFT: max(last.TTFT, at.spread(basis, f, cost.Regime(regime), truth.TTFT)), TPOT: max(last.TPOT, at.spread(basis, f, cost.Regime(regime), truth.TPOT)),
				Throughput: max(last.Throughput, at.spread(basis, f, cost.Regime(regime), truth.Throughput)),
			}
			if f != (cost.Family{}) && len(at.errors[cost.SameModel][scope{cost.Family{Engine: f.Engine}, anyRegime}][truth.Throughput]) == 0 {
				last.Throughput = max(last.Throughput, last.TPOT) // of an engine whose rates were not measured
			}
			w.At(basis)[regime] = last
		}
	}
	return w
}

// spread returns the spread at a basis. One at which too few were left out to tell would seem surer than it is, and has that of the next.
func (at *errorsAt) spread(basis cost.Basis, f cost.Family, regime cost.Regime, quantity truth.Quantity) float64 {
	least := 0.0
	if basis >= cost.SameFamily {
		least = at.between[quantity]
	}
	for basis < cost.Roofline && len(at.errors[basis][scope{cost.Family{}, anyRegime}][quantity]) < shared {
		basis++
	}
	return max(least, at.errors[basis].spread(f, regime, quantity))
}

// spread returns how far the errors of a family under a regime reach. The fewer errors the family has, the nearer it is
// to the spread of the next wider scope.
func (e errorsBy) spread(f cost.Family, regime cost.Regime, quantity truth.Quantity) float64 {
	spread := 0.0
	for i, s := range scopes(f, regime) {
		list := e[s][quantity]
		own := float64(len(list)) / float64(len(list)+shared)
		if i == 0 {
			own = 1
		}
		spread += own * (Quantile(list, coverage) - spread)
	}
	return math.Round(spread*1e3) / 1e3
}

// eighth names the part that a name falls into.
func eighth(name string) string { return fmt.Sprint(hash(name) % parts) }

func hash(s string) uint32 {
	h := fnv.New32a()
	h.Write([]byte(s))
	return h.Sum32() >> 11
}

// Training is the half of the observations that constants are fitted to.
func Training(observations []truth.Observation) []truth.Observation {
	return slices.DeleteFunc(slices.Clone(observations), func(o truth.Observation) bool { return o.Held() || o.Reported })
}

// HeldOut returns the other half.
func HeldOut(observations []truth.Observation) []truth.Observation {
	return slices.DeleteFunc(slices.Clone(observations), func(o truth.Observation) bool { return !o.Held() || o.Reported })
}
