package replay

import (
	"cmp"
	"math"
	"slices"
)

// Served is what became of a request: when it arrived, and when its first and its last token were there, in seconds.
type Served struct {
	Arrival, First, Last float64
	Input, Output        int
	refused              bool
}

// correct corrects the time to the first token by a factor; what follows it is as much later.
func (s *Served) correct(factor float64) {
	more := (s.First - s.Arrival) * (factor - 1)
	s.First, s.Last = s.First+more, s.Last+more
}

// Result is what became of all requests.
type Result struct {
	// TTFT is the time to the first token, TPOT the mean time between later ones, EndToEnd the time to the last token, in seconds, of the requests that were served.
	TTFT, TPOT, EndToEnd Percentiles
	// Seconds is how long it took from the first arrival, InputTokens and OutputTokens what was read and written.
	Seconds                   float64
	Requests                  int
	InputTokens, OutputTokens int
	// Steps is how many there were, Running how many requests got a token in one in the mean.
	Steps   int
	Running float64
	// Preemptions is how often a request gave up its cache, ComputedAgain the tokens that were computed again for that.
	Preemptions, ComputedAgain int
	// Refused is how many requests are longer than the cache.
	Refused int

	occupied float64
}

// OutputTokensPerSecond returns what was written a second.
func (r *Result) OutputTokensPerSecond() float64 {
	return float64(r.OutputTokens) / max(r.Seconds, 1e-9)
}

// Percentiles are of what so many requests saw.
type Percentiles struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
}

// Scaled returns percentiles in another unit.
func (p Percentiles) Scaled(by float64) Percentiles {
	return Percentiles{Mean: by * p.Mean, P50: by * p.P50, P90: by * p.P90, P99: by * p.P99}
}

// percentiles sorts a list. Each is the least value that so many of a hundred do not exceed.
func percentiles(list []float64) Percentiles {
	if len(list) == 0 {
		return Percentiles{}
	}
	slices.SortFunc(list, cmp.Compare[float64])
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	at := func(share float64) float64 {
		return list[max(0, int(math.Ceil(share*float64(len(list))))-1)]
	}
	return Percentiles{Mean: sum / float64(len(list)), P50: at(0.5), P90: at(0.9), P99: at(0.99)}
}

func (r *Result) finish(list []Served) {
	var first, between, all []float64
	for i := range list {
		s := &list[i]
		if s.refused {
			continue
		}
		r.Requests, r.InputTokens, r.OutputTokens = r.Requests+1, r.InputTokens+s.Input, r.OutputTokens+s.Output
		first, all = append(first, s.First-s.Arrival), append(all, s.Last-s.Arrival)
		if s.Output > 1 {
			between = append(between, (s.Last-s.First)/float64(s.Output-1))
		}
	}
	r.TTFT, r.TPOT, r.EndToEnd = percentiles(first), percentiles(between), percentiles(all)
	r.Running = r.occupied / float64(max(1, r.Steps))
}
