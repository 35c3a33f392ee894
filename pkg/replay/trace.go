package replay

import (
	"cmp"
	"math"
	"slices"
)

// Request is one request of a trace.
type Request struct {
	// Arrival is when it is sent, in seconds from the first one.
	Arrival float64
	// Input and Output are the tokens of its prompt and of its answer, at least 1 each.
	Input, Output int
}

// Trace is requests in the order in which they are sent.
type Trace struct {
	Requests []Request
	// Timed says that the source has times of arrival; else all are sent at once.
	Timed bool
	// Skipped is how many rows of the source were left out, since they have no tokens: requests that failed.
	Skipped int
	// Source says where lengths and arrivals are from.
	Source string
	// Assumptions are what the source does not say and was assumed.
	Assumptions []string
}

// Bounds of what a trace may have.
const (
	maxTokens   = 1 << 22
	maxRequests = 1 << 22
)

// Lengths are what a planner asks of a trace.
type Lengths struct {
	// Source says where they are from.
	Source string `json:"source"`
	// Input and Output are means of tokens, Longest the most that a request has of both together.
	Input   int64 `json:"inputTokens"`
	Output  int64 `json:"outputTokens"`
	Longest int64 `json:"longestTokens"`
	// Variation is the standard deviation in percent of the mean: that of prompts and answers together, which counts for the cache.
	Variation int64 `json:"variationPercent"`
}

// Lengths returns the lengths of a trace's requests.
func (t *Trace) Lengths() Lengths {
	var in, out, inSquare, outSquare float64
	l := Lengths{Source: t.Source}
	for i := range t.Requests {
		r := &t.Requests[i]
		a, b := float64(r.Input), float64(r.Output)
		in, out, inSquare, outSquare = in+a, out+b, inSquare+a*a, outSquare+b*b
		l.Longest = max(l.Longest, int64(r.Input+r.Output))
	}
	n := float64(max(1, len(t.Requests)))
	in, out = in/n, out/n
	variance := max(0, inSquare/n-in*in) + max(0, outSquare/n-out*out)
	l.Input, l.Output = int64(max(1, math.Round(in))), int64(max(1, math.Round(out)))
	if means := in*in + out*out; means > 0 {
		l.Variation = min(400, int64(math.Round(100*math.Sqrt(variance/means))))
	}
	l.Longest = max(l.Longest, l.Input+l.Output)
	return l
}

// Rate returns the requests a second that arrive in the mean; 0 where all are sent at once.
func (t *Trace) Rate() float64 {
	if len(t.Requests) < 2 {
		return 0
	}
	span := t.Requests[len(t.Requests)-1].Arrival - t.Requests[0].Arrival
	if !t.Timed || span <= 0 {
		return 0
	}
	return float64(len(t.Requests)-1) / span
}

// First keeps the first requests of a trace; 0 keeps all.
func (t *Trace) First(n int64) {
	if n > 0 && n < int64(len(t.Requests)) {
		t.Requests = t.Requests[:n]
	}
}

// sort puts requests into the order of their arrival, which begins at 0.
func (t *Trace) sort() {
	slices.SortStableFunc(t.Requests, func(a, b Request) int { return cmp.Compare(a.Arrival, b.Arrival) })
	if len(t.Requests) == 0 {
		return
	}
	first := t.Requests[0].Arrival
	for i := range t.Requests {
		t.Requests[i].Arrival -= first
	}
}
