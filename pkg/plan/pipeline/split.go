package pipeline

import (
	"errors"
	"math"
	"slices"
)

// Chain is one pipeline that is to be divided into stages.
type Chain struct {
	// Layers is how many layers there are.
	Layers int
	// Devices is how many devices, or tensor groups that act as one, there are of each class.
	Devices []int
	// Seconds is how long a stage takes for one step, by class and layers [start, end). +Inf says that the class does not
	// hold them. It is called once for each class and run, and need not grow with the run.
	Seconds func(class, start, end int) float64
	// Handover is how long a stage of the second class takes to receive from one of the first, which counts as its own
	// time; without it handing over is free.
	Handover [][]float64
	// MaxStages bounds the stages where it is positive.
	MaxStages int
}

// Stage is one stage of a pipeline: the layers [Start, End) on a device of a class.
type Stage struct {
	Class, Start, End int
	// Seconds is the time of a step, with what it takes to receive it.
	Seconds float64
}

// Division is a pipeline that was found.
type Division struct {
	Stages []Stage
	// Slowest is the time of the slowest stage in seconds, so 1/Slowest is the steps a second of a full pipeline.
	Slowest float64
	// Total is the time of one step through all stages in seconds.
	Total float64
}

var (
	// ErrNoFit says that no division gives each stage a device that holds it.
	ErrNoFit = errors.New("no division of the layers fits the devices")
	// ErrTooLarge says that a chain has more states than MaxStates.
	ErrTooLarge = errors.New("too many ways to use the devices: merge classes or offer fewer devices")
)

// MaxStates bounds the states of a division: layers times last classes times the product of (devices + 1) of each class.
// A state takes 12 bytes.
const MaxStates = 1 << 22

// Split divides a chain so that the slowest stage is as fast as possible; among equals with the fewest stages, then with
// the least total time, then with devices of the first classes. Not every device need be used.
//
// It returns ErrNoFit, ErrTooLarge, or an error that wraps ErrInvalid and names the field.
func Split(c Chain) (*Division, error) {
	if err := c.validate(); err != nil {
		return nil, err
	}
	s, err := newSplitter(&c)
	if err != nil {
		return nil, err
	}
	s.fill(slowest, math.Inf(1))
	first, ok := s.best(math.Inf(1), 0)
	if !ok {
		return nil, ErrNoFit
	}
	// Among all divisions whose slowest stage is as fast and that have as few stages: the least total.
	s.fill(total, first.value)
	second, _ := s.best(math.Inf(1), first.stages)
	d := &Division{Stages: s.trace(second), Slowest: first.value}
	for _, stage := range d.Stages {
		d.Total += stage.Seconds
	}
	return d, nil
}

func (c *Chain) validate() error {
	switch {
	case c.Layers < 1 || c.Layers > maxLayers:
		return invalid("layers is %d: give between 1 and %d", c.Layers, maxLayers)
	case len(c.Devices) == 0 || len(c.Devices) > maxClasses:
		return invalid("there are %d classes of devices: give between 1 and %d", len(c.Devices), maxClasses)
	case c.Seconds == nil:
		return invalid("seconds is missing: give the time of a stage by class and layers")
	case c.Handover != nil && len(c.Handover) != len(c.Devices):
		return invalid("handover has %d rows: give one for each of %d classes", len(c.Handover), len(c.Devices))
	}
	for i, n := range c.Devices {
		if n < 0 {
			return invalid("devices[%d] is %d: give zero or more", i, n)
		}
	}
	for i, row := range c.Handover {
		if len(row) != len(c.Devices) {
			return invalid("handover[%d] has %d entries: give one for each of %d classes", i, len(row), len(c.Devices))
		}
		for j, seconds := range row {
			if !(seconds >= 0) {
				return invalid("handover[%d][%d] is %v: give seconds, +Inf for no link", i, j, seconds)
			}
		}
	}
	return nil
}

const maxClasses = 1 << 6

// splitter is the dynamic programme: a state is how many devices of each class are used, the group of the last one by
// what its sends cost, and the layers that are placed.
type splitter struct {
	chain   *Chain
	counts  []int
	stride  []int // of one device of each class
	uses    int   // ways to use the devices
	groups  [][]float64
	groupOf []int
	seconds []float64 // by class, start and end
	value   []float64 // by use, group and layers
	from    []int32   // the state before, -1 for none
	stages  []int32   // by use
}

func newSplitter(c *Chain) (*splitter, error) {
	s := &splitter{chain: c, uses: 1}
	for _, n := range c.Devices {
		n = min(n, c.Layers)
		s.counts = append(s.counts, n)
		s.stride = append(s.stride, s.uses)
		if s.uses *= n + 1; s.uses > MaxStates {
			return nil, ErrTooLarge
		}
	}
	s.group()
	if s.uses*len(s.groups)*(c.Layers+1) > MaxStates {
		return nil, ErrTooLarge
	}
	if err := s.tabulate(); err != nil {
		return nil, err
	}
	s.stages = make([]int32, s.uses)
	for use := range s.stages {
		for i := range s.counts {
			s.stages[use] += int32(s.usedOf(use, i))
		}
	}
	s.value = make([]float64, s.uses*len(s.groups)*(c.Layers+1))
	s.from = make([]int32, len(s.value))
	return s, nil
}

// group puts classes together whose sends take equally long to each class.
func (s *splitter) group() {
	none := make([]float64, len(s.counts))
	for i := range s.counts {
		row := none
		if s.chain.Handover != nil {
			row = s.chain.Handover[i]
		}
		at := slices.IndexFunc(s.groups, func(g []float64) bool { return slices.Equal(g, row) })
		if at < 0 {
			at, s.groups = len(s.groups), append(s.groups, row)
		}
		s.groupOf = append(s.groupOf, at)
	}
}

func (s *splitter) tabulate() error {
	layers := s.chain.Layers
	s.seconds = make([]float64, len(s.counts)*layers*(layers+1))
	for class, n := range s.counts {
		if n == 0 {
			continue
		}
		for start := range layers {
			row := s.row(class, start)
			for end := start + 1; end <= layers; end++ {
				if row[end] = s.chain.Seconds(class, start, end); !(row[end] >= 0) {
					return invalid("seconds(%d, %d, %d) is %v: give seconds, +Inf where the class does not hold the layers", class, start, end, row[end])
				}
			}
		}
	}
	return nil
}

// row holds the seconds of the runs of a class from a start, by end.
func (s *splitter) row(class, start int) []float64 {
	width := s.chain.Layers + 1
	at := (class*s.chain.Layers + start) * width
	return s.seconds[at : at+width]
}

func (s *splitter) usedOf(use, class int) int { return use / s.stride[class] % (s.counts[class] + 1) }

// state is the number of a state.
func (s *splitter) state(use, group, layers int) int {
	return (use*len(s.groups)+group)*(s.chain.Layers+1) + layers
}

// measure is how the value of a pipeline follows from that of all stages but the last and the time of the last.
type measure func(before, stage float64) float64

func slowest(before, stage float64) float64 { return max(before, stage) }
func total(before, stage float64) float64   { return before + stage }

// fill computes the best value of every state over pipelines none of whose stages takes longer than the limit.
func (s *splitter) fill(m measure, limit float64) {
	for i := range s.value {
		s.value[i], s.from[i] = math.Inf(1), -1
	}
	s.value[s.state(0, 0, 0)] = 0
	for use := range s.uses {
		if s.chain.MaxStages > 0 && int(s.stages[use]) >= s.chain.MaxStages {
			continue
		}
		for class := range s.counts {
			if s.usedOf(use, class) < s.counts[class] {
				s.extend(m, limit, use, class)
			}
		}
	}
}

// extend adds a stage on a class to all pipelines that use so many devices.
func (s *splitter) extend(m measure, limit float64, use, class int) {
	layers := s.chain.Layers
	to := s.state(use+s.stride[class], s.groupOf[class], 0)
	for group := range s.groups {
		receive := s.groups[group][class]
		if use == 0 {
			receive = 0
		}
		at := s.state(use, group, 0)
		for start := range layers {
			before := s.value[at+start]
			if math.IsInf(before, 1) {
				continue
			}
			row := s.row(class, start)
			for end := start + 1; end <= layers; end++ {
				stage := receive + row[end]
				if stage > limit {
					continue
				}
				if v := m(before, stage); v < s.value[to+end] {
					s.value[to+end], s.from[to+end] = v, int32(at+start)
				}
			}
		}
	}
}

// goal is a state with all layers placed.
type goal struct {
	state, stages int
	value         float64
}

// best is the goal with the least value, then the fewest stages, then the first; of so many stages where they are given.
func (s *splitter) best(below float64, stages int) (goal, bool) {
	best := goal{value: below}
	ok := false
	for use := range s.uses {
		n := int(s.stages[use])
		if stages > 0 && n != stages {
			continue
		}
		for group := range s.groups {
			at := s.state(use, group, s.chain.Layers)
			if v := s.value[at]; v < best.value || (ok && v == best.value && n < best.stages) {
				best, ok = goal{state: at, stages: n, value: v}, true
			}
		}
	}
	return best, ok
}

// trace walks back from a goal and returns its stages.
func (s *splitter) trace(g goal) []Stage {
	width := s.chain.Layers + 1
	stages := make([]Stage, 0, g.stages)
	for at := g.state; s.from[at] >= 0; at = int(s.from[at]) {
		before := int(s.from[at])
		use, usedBefore := at/width/len(s.groups), before/width/len(s.groups)
		class := slices.Index(s.stride, use-usedBefore)
		for s.counts[class] == 0 {
			class++ // an absent class has the stride of the next
		}
		stage := Stage{Class: class, Start: before % width, End: at % width}
		stage.Seconds = s.row(class, stage.Start)[stage.End]
		if usedBefore > 0 {
			stage.Seconds += s.groups[before/width%len(s.groups)][class]
		}
		stages = append(stages, stage)
	}
	slices.Reverse(stages)
	return stages
}
