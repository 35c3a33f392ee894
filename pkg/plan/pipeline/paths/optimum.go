package paths

import "math"

// Optimum is the best layout that was found, and how much better one there may be.
type Optimum struct {
	// Spans are the layers of each device.
	Spans []Span
	// Rate is the tokens a second that the spans carry.
	Rate float64
	// Bound is a rate that no layout exceeds.
	Bound float64
	// Proven says that Bound exceeds Rate by at most the share Precision.
	Proven bool
	// Hops are the flows between devices that reach the rate.
	Hops []Hop
	// Steps is how many spans the search considered.
	Steps int
}

// Gap returns how much better than the layout a better one may be, as a fraction of its rate: +Inf where no layout was
// found in time and none is refuted.
func (o *Optimum) Gap() float64 {
	switch {
	case o.Bound <= o.Rate:
		return 0
	case o.Rate == 0:
		return math.Inf(1)
	default:
		return o.Bound/o.Rate - 1
	}
}

// Precision is the relative difference below which two rates count as equal.
const Precision = 1e-9

// DefaultSteps is a limit of the search that takes seconds.
const DefaultSteps = 1 << 22

// Optimize finds spans for the devices of a fleet that carry the most tokens a second. The search ends after so many
// steps, or DefaultSteps where steps is not positive; what it has not proven by then it states as the gap between Rate
// and Bound. A fleet that no layout fits has the rate zero. The same fleet and limit give the same answer.
func Optimize(f Fleet, steps int) (*Optimum, error) {
	if err := f.validate(); err != nil {
		return nil, err
	}
	if steps <= 0 {
		steps = DefaultSteps
	}
	s := &solver{fleet: &f, limit: steps, bound: workBound(f.Layers, f.Devices)}
	s.binding = f.Links.least() < s.bound
	s.classes = f.classes(s.binding)
	s.spans = f.chains()
	s.rate = f.evaluate(s.spans)
	s.floor = f.leastRate()
	s.narrow()
	s.close()
	o := &Optimum{Spans: s.spans, Bound: max(s.bound, s.rate), Steps: s.steps}
	var err error
	o.Rate, o.Hops, err = f.Throughput(s.spans)
	if err != nil {
		return nil, err
	}
	o.Proven = o.Bound <= o.Rate*(1+Precision)
	return o, nil
}

// solver brackets the optimum: its spans carry rate, and nothing carries more than bound.
type solver struct {
	fleet       *Fleet
	binding     bool // whether links may be a bound
	classes     []class
	spans       []Span
	rate, bound float64
	floor       float64 // no layout that carries anything carries less
	steps       int
	limit       int
}

// probe asks for a target and moves one end of the bracket, unless it is stopped.
func (s *solver) probe(target float64, limit int) outcome {
	p := newProbe(s.fleet, s.classes, s.binding, target, min(limit, s.limit-s.steps))
	result := p.run()
	s.steps += min(p.steps, p.limit)
	switch result {
	case none:
		s.bound = min(s.bound, target)
		if target <= s.floor {
			s.bound = 0
		}
	case found:
		s.spans = p.layout
		s.rate = s.fleet.evaluate(s.spans)
	case stopped:
	}
	return result
}

// narrow halves the bracket; where a probe is stopped, it asks for more, which is easier to refute. It leaves half of the
// steps for the proof.
func (s *solver) narrow() {
	low := s.rate
	for s.steps < s.limit/2 && s.bound-low > s.bound/256 {
		target := low + (s.bound-low)/2
		switch s.probe(target, s.limit/16) {
		case found:
			low = s.rate
		case stopped:
			low = target
		case none:
		}
	}
}

// close asks for just more than is known until there is no more.
func (s *solver) close() {
	for s.bound > s.rate*(1+Precision) && s.steps < s.limit {
		if s.probe(max(s.rate*(1+Precision), s.floor), s.limit) == stopped {
			return
		}
	}
}

// leastRate returns the least rate of devices and links that is not zero. A path carries the least of its own.
func (f *Fleet) leastRate() float64 {
	least := maxRate
	consider := func(rates []float64) {
		for _, rate := range rates {
			if rate > 0 {
				least = min(least, rate)
			}
		}
	}
	for _, d := range f.Devices {
		consider(d.Rates)
	}
	if f.Links != nil {
		consider(f.Links.In)
		consider(f.Links.Out)
		for _, row := range f.Links.Between {
			consider(row)
		}
	}
	return least
}
