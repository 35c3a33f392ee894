package pipeline

import "math"

// maxTries bounds how often a limit of the stage times is raised before there is none.
const maxTries = 12

// fewSteps is how many steps of the programme cost less than looking for a limit of the stage times.
const fewSteps = 1 << 15

// slowest fills the states and returns the least time of a slowest stage, +Inf where there is none. A pipeline within a
// limit that is found by filling within it is the best of all, since all others have a slower stage. Low limits leave few
// runs, so they are tried first, from one at which the longest runs of all devices sum to the layers.
func (s *splitter) slowest() float64 {
	least, most := s.times()
	limit := most
	if len(s.value)*s.chain.Layers > fewSteps {
		limit = s.necessary(least, most)
	}
	for try := 1; limit < most && try < maxTries; try++ {
		s.fill(slowestStage, limit)
		if value := s.least(); !math.IsInf(value, 1) {
			return value
		}
		limit = max(limit*1.2, least)
	}
	s.fill(slowestStage, most)
	return s.least()
}

// times returns the least positive time of a stage, and a time that no stage exceeds.
func (s *splitter) times() (least, most float64) {
	least = math.Inf(1)
	for _, seconds := range s.seconds {
		if seconds > 0 {
			least = min(least, seconds)
		}
		if !math.IsInf(seconds, 1) {
			most = max(most, seconds)
		}
	}
	receive := 0.0
	for _, row := range s.groups {
		for _, seconds := range row {
			if !math.IsInf(seconds, 1) {
				receive = max(receive, seconds)
			}
		}
	}
	return least, most + receive
}

// necessary returns a limit at which the longest runs of all devices sum to the layers, near the least such limit.
func (s *splitter) necessary(low, high float64) float64 {
	for high > low*1.05 {
		middle := math.Sqrt(low) * math.Sqrt(high)
		if middle <= low || middle >= high {
			break
		}
		s.admit(middle)
		if s.reach(0) < s.chain.Layers {
			low = middle
		} else {
			high = middle
		}
	}
	return high
}
