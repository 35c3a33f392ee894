package pipeline

import (
	"iter"
	"math"
	"slices"
)

// splitter is the dynamic programme. A state is how many devices of each class are used, the group of the last device by
// what its sends cost, and the number of layers that are placed.
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

	ends     []int32 // of the runs within the limit, ordered by class, start and end
	endsFrom []int32 // where those of a class and start begin
	longest  []int   // run within the limit, by class
}

func newSplitter(c *Chain) (*splitter, error) {
	s := &splitter{chain: c, uses: 1}
	for _, n := range c.Devices {
		n = min(n, c.Layers)
		s.counts = append(s.counts, n)
		s.stride = append(s.stride, s.uses)
		if s.uses *= n + 1; s.uses > maxStates {
			return nil, ErrTooLarge
		}
	}
	s.group()
	if s.uses*len(s.groups)*(c.Layers+1) > maxStates || len(s.counts)*c.Layers*(c.Layers+1) > maxStates {
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
	s.longest = make([]int, len(s.counts))
	s.ends = make([]int32, 0, len(s.counts)*c.Layers*(c.Layers+1)/2)
	s.endsFrom = make([]int32, 0, len(s.counts)*c.Layers+1)
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
				if row[end] = s.chain.Seconds(class, start, end); !validSeconds(row[end]) {
					return invalid("seconds(%d, %d, %d) is %v: give 0 to %v, +Inf where the class does not hold the layers",
						class, start, end, row[end], maxSeconds)
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

// state returns the number of a state.
func (s *splitter) state(use, group, layers int) int {
	return (use*len(s.groups)+group)*(s.chain.Layers+1) + layers
}

// measure is how the value of a pipeline follows from that of all stages but the last and the time of the last.
type measure int

const (
	slowestStage measure = iota // the greater
	totalTime                   // the sum
)

func (m measure) of(before, stage float64) float64 {
	if m == totalTime {
		return before + stage
	}
	return max(before, stage)
}

// fill computes the best value of every state over pipelines none of whose stages takes longer than the limit. States
// from which the devices that are left cannot reach the last layer are passed over.
func (s *splitter) fill(m measure, limit float64) {
	for i := range s.value {
		s.value[i], s.from[i] = math.Inf(1), -1
	}
	s.admit(limit)
	s.value[s.state(0, 0, 0)] = 0
	for use := range s.uses {
		for class := range s.counts {
			if s.usedOf(use, class) < s.counts[class] && s.stagesLeft(use) > 0 {
				s.extend(m, limit, use, class)
			}
		}
	}
}

// admit lists the runs that take no longer than the limit.
func (s *splitter) admit(limit float64) {
	s.ends, s.endsFrom = s.ends[:0], s.endsFrom[:0]
	for class := range s.counts {
		s.longest[class] = 0
		for start := range s.chain.Layers {
			s.endsFrom = append(s.endsFrom, int32(len(s.ends)))
			if s.counts[class] == 0 {
				continue
			}
			for end, seconds := range s.row(class, start) {
				if end > start && seconds <= limit {
					s.ends = append(s.ends, int32(end))
					s.longest[class] = max(s.longest[class], end-start)
				}
			}
		}
	}
	s.endsFrom = append(s.endsFrom, int32(len(s.ends)))
}

// stagesLeft returns how many stages may follow.
func (s *splitter) stagesLeft(use int) int {
	if s.chain.MaxStages <= 0 {
		return math.MaxInt32
	}
	return s.chain.MaxStages - int(s.stages[use])
}

// reach returns the most layers that the unused devices may hold.
func (s *splitter) reach(use int) int {
	sum, longest := 0, 0
	for class, n := range s.counts {
		if left := n - s.usedOf(use, class); left > 0 {
			sum += left * s.longest[class]
			longest = max(longest, s.longest[class])
		}
	}
	return min(sum, longest*min(s.stagesLeft(use), s.chain.Layers))
}

// extend adds a stage on a class to all pipelines that use so many devices.
func (s *splitter) extend(m measure, limit float64, use, class int) {
	layers := s.chain.Layers
	to := s.state(use+s.stride[class], s.groupOf[class], 0)
	least := max(layers-s.reach(use), 0)
	leastEnd := int32(layers - s.reach(use+s.stride[class]))
	for group := range s.groups {
		receive := s.groups[group][class]
		if use == 0 {
			receive = 0
		}
		at := s.state(use, group, 0)
		for start := least; start < layers; start++ {
			before := s.value[at+start]
			if math.IsInf(before, 1) {
				continue
			}
			row, run := s.row(class, start), class*layers+start
			for _, end := range s.ends[s.endsFrom[run]:s.endsFrom[run+1]] {
				stage := receive + row[end]
				if end < leastEnd || stage > limit {
					continue
				}
				if v := m.of(before, stage); v < s.value[to+int(end)] {
					s.value[to+int(end)], s.from[to+int(end)] = v, int32(at+start)
				}
			}
		}
	}
}

// goals visits the states with all layers placed, each with the use of devices.
func (s *splitter) goals() iter.Seq2[int, int] {
	return func(yield func(use, state int) bool) {
		for use := range s.uses {
			for group := range s.groups {
				if !yield(use, s.state(use, group, s.chain.Layers)) {
					return
				}
			}
		}
	}
}

// least returns the least value of a goal.
func (s *splitter) least() float64 {
	least := math.Inf(1)
	for _, at := range s.goals() {
		least = min(least, s.value[at])
	}
	return least
}

// fewest returns the least number of stages of a goal within a limit.
func (s *splitter) fewest(limit float64) int32 {
	fewest := int32(math.MaxInt32)
	for use, at := range s.goals() {
		if s.value[at] <= limit {
			fewest = min(fewest, s.stages[use])
		}
	}
	return fewest
}

// leastOf returns the first of the goals with the least value among those of so many stages.
func (s *splitter) leastOf(stages int32) int {
	best, least := 0, math.Inf(1)
	for use, at := range s.goals() {
		if s.stages[use] == stages && s.value[at] < least {
			best, least = at, s.value[at]
		}
	}
	return best
}

// trace walks back from a goal and returns its stages.
func (s *splitter) trace(goal int) []Stage {
	width := s.chain.Layers + 1
	var stages []Stage
	for at := goal; s.from[at] >= 0; at = int(s.from[at]) {
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
