package cost

import "math"

// Workload is what an instance serves. Every number is in the mean; below 1 they count as 1, but Requests.
type Workload struct {
	// Input and Output are tokens of a request.
	Input, Output float64
	// Concurrency is how many requests run at a time: the least of what the cache holds, what the engine allows and what
	// is offered.
	Concurrency float64
	// Clients is how many requests are in flight, those included that wait for the running ones; less than Concurrency
	// means that none waits.
	Clients float64
	// MaxBatchedTokens bounds the tokens of a step: longer prompts are cut into chunks.
	MaxBatchedTokens float64
	// Requests is how many are offered at once in all; 0 means that there is always another one.
	Requests float64
}

// Query is a model on devices with a workload.
type Query struct {
	Profile  *Profile
	Device   *Device
	Strategy Strategy
	Workload Workload
}

// Times are what an instance delivers, without a range.
type Times struct {
	// TTFT is the time to the first token, TPOT the time between later ones, in seconds, in the median of requests.
	TTFT, TPOT float64
	// OutputTokensPerSecond is that of the whole instance.
	OutputTokensPerSecond float64
}

// Serve evaluates a query with given constants.
func Serve(q *Query, c *Constants) Times {
	s := stepper{p: q.Profile, d: q.Device, c: c, degrees: q.Strategy.degrees()}
	w := q.Workload.bounded()
	alone := s.prompt(w, 1)
	decode := s.decode(w, w.Concurrency)
	t := Times{TPOT: s.interleaved(w, w.Concurrency-1, decode)}
	others := w.Concurrency - 1
	busy := alone * w.Concurrency / (alone*w.Concurrency + w.Output*decode)
	t.TTFT = c[FirstSeconds] + alone*(1+others*(c[QueueShare]+c[BusyShare]*busy)) + decode*0.5*min(1, others)
	if w.Clients > w.Concurrency {
		t.TTFT += (w.Clients/w.Concurrency - 1) * (alone + w.Output*t.TPOT)
	}
	t.OutputTokensPerSecond = s.throughput(w)
	return t
}

func (w Workload) bounded() Workload {
	w.Input, w.Output, w.Concurrency = max(1, w.Input), max(1, w.Output), max(1, w.Concurrency)
	if w.MaxBatchedTokens < 1 {
		w.MaxBatchedTokens = 8192
	}
	if w.Requests > 0 {
		w.Requests = max(1, w.Requests)
	}
	return w
}

// prompt is the time to read the prompts of some requests, in chunks.
func (s *stepper) prompt(w Workload, requests float64) float64 {
	tokens := requests * w.Input
	chunks := max(1, tokens/(w.MaxBatchedTokens*s.data*s.stages))
	return chunks * s.step(batch{prompt: tokens / chunks, reach: w.Input / 2, finished: requests / chunks})
}

// decode is a step in which some sequences get a token each.
func (s *stepper) decode(w Workload, sequences float64) float64 {
	return s.step(batch{sequences: sequences, context: w.Input + w.Output/2})
}

// interleaved is the mean time between two tokens of a request while the prompts of others are read: so many of its
// steps carry a chunk as the others' prompts need, and the rest decode only.
func (s *stepper) interleaved(w Workload, others, decode float64) float64 {
	tokens := others * w.Input
	if tokens <= 0 {
		return decode
	}
	room := max(1, w.MaxBatchedTokens*s.data*s.stages-w.Concurrency)
	chunk := min(room, max(w.Input, tokens/w.Output))
	mixed := s.step(batch{w.Concurrency, w.Input + w.Output/2, chunk, w.Input / 2, chunk / w.Input})
	steps := tokens / chunk
	return (steps*mixed + max(0, w.Output-steps)*decode) / w.Output
}

// throughput is output tokens per second: in waves of as many requests as run at a time, the last one smaller.
func (s *stepper) throughput(w Workload) float64 {
	w.Concurrency *= s.c[WaveShare]
	if w.Requests <= 0 || w.Requests > 8*w.Concurrency {
		return w.Concurrency / s.interleaved(w, w.Concurrency, s.decode(w, w.Concurrency))
	}
	waves := math.Floor(w.Requests / w.Concurrency)
	rest := w.Requests - waves*w.Concurrency
	t := 0.0
	if waves > 0 {
		t += waves * s.wave(w, w.Concurrency)
	}
	if rest > 0 {
		t += s.wave(w, rest)
	}
	return w.Requests * w.Output / t
}

func (s *stepper) wave(w Workload, sequences float64) float64 {
	w.Concurrency = max(1, sequences)
	return w.Output * s.interleaved(w, sequences, s.decode(w, sequences))
}

// ServeUnder evaluates a query at the largest concurrency up to the query's at which a token takes at most limit seconds,
// with requests that arrive at random.
func ServeUnder(q *Query, c *Constants, limit float64) Times {
	at := *q
	low, high := 1.0, max(1, q.Workload.Concurrency)
	if t := Serve(&at, c); t.TPOT > limit {
		for range 20 {
			at.Workload.Concurrency = math.Sqrt(low * high)
			if Serve(&at, c).TPOT > limit {
				high = at.Workload.Concurrency
			} else {
				low = at.Workload.Concurrency
			}
		}
		at.Workload.Concurrency = low
	}
	t := Serve(&at, c)
	t.OutputTokensPerSecond *= c[ArrivalShare]
	return t
}
