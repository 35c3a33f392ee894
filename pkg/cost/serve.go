package cost

import "math"

// Workload is what an instance serves. Numbers are means; values below 1 count as 1, except for Requests.
type Workload struct {
	// Input and Output are the prompt and answer tokens of a request.
	Input, Output float64
	// Concurrency is how many requests run at a time: the least of what the cache holds, what the engine allows and what
	// is offered.
	Concurrency float64
	// Clients is how many requests are in flight, waiting ones included. Less than Concurrency means that none waits.
	Clients float64
	// MaxBatchedTokens bounds the tokens of a step: longer prompts are cut into chunks.
	MaxBatchedTokens float64
	// Requests is how many requests are offered at once in all; 0 means that there is always another one.
	Requests float64
	// Variation is the standard deviation of answers as a share of their mean; 0 where all are alike.
	Variation float64
	// RequestSeconds is what the API server takes for each request of a bounded number while the devices wait for it.
	RequestSeconds float64
	// Again is the tokens of a request that are computed again since it was preempted, in the mean over all requests.
	Again float64
	// Together says that all requests have the same lengths and start at once, as some load generators do. Such requests
	// arrive and end in convoys, and wait longer for one another's prompts than requests that come one by one.
	Together bool
	// Arriving says that requests arrive at random, and do not come as others end. An estimate with a limit of the time per token is of such ones.
	Arriving bool
	// Options are what the server does beside.
	Options
}

// Query is a model on devices with a workload.
type Query struct {
	Profile  *Profile
	Device   *Device
	Strategy Strategy
	Workload Workload
	// Cut is where the layers are cut into stages, which are all on Device; Strategy.Pipeline does not count then. Nil means
	// Strategy.Pipeline equal stages.
	Cut *Cut
	// Transfer is the rate at which stages on Device send to each other, in bytes per second; 0 takes what its links reach.
	Transfer float64
	// Tile is the rows that a tile of the engine's attention kernel has for each head of a sequence that decodes in the same step as prompts
	// are read; 0 where the kernel packs heads that share keys, or another one decodes.
	Tile float64
	// OtherRelease says that no times of the engine's release were measured.
	OtherRelease bool
	// Correction is what measurements near the query differ by from what the constants give; the zero value corrects nothing.
	Correction Correction
	// Stages lists the stages of a pipeline over unequal devices, in order; neither Strategy.Pipeline nor Cut and Transfer count
	// then.
	Stages []Stage
}

// Times are what an instance delivers, without ranges.
type Times struct {
	// TTFT is the time to the first token, TPOT the time between later ones, in seconds, in the median of requests.
	TTFT, TPOT float64
	// OutputTokensPerSecond counts the tokens of all ranks of the instance together.
	OutputTokensPerSecond float64
}

// Serve evaluates a query with given constants.
func Serve(q *Query, c *Constants) Times {
	s := newInstance(q, c)
	return q.Correction.of(s.serve(q.Workload.bounded()))
}

func (s *instance) serve(w Workload) Times {
	c := s.c
	alone := s.prompt(w)
	decode := s.decode(w, w.Concurrency)
	t := Times{TPOT: s.interleaved(w, w.Concurrency-1, decode)}
	others := w.Concurrency - 1
	copying := s.returning(&w)
	t.TTFT = c[FirstSeconds] + copying + alone*(1+s.ahead(w, alone, decode)) + decode*0.5*min(1, others)
	if w.Clients > w.Concurrency {
		t.TTFT += (w.Clients/w.Concurrency - 1) * (alone + w.Output*t.TPOT)
	}
	t.OutputTokensPerSecond = s.throughput(w)
	if copying > 0 { // each data rank has links of its own, and its requests take turns on them
		t.OutputTokensPerSecond = min(t.OutputTokensPerSecond, s.data*w.Output/copying)
		t.TPOT = max(t.TPOT, w.Concurrency/s.data*copying/w.Output)
	}
	return t
}

// ahead returns how many prompts a request waits for.
func (s *instance) ahead(w Workload, alone, decode float64) float64 {
	c, others := s.c, (w.Concurrency-1)/s.data
	reading := alone * (1 + w.Again/w.Read()) * w.Concurrency
	busy := reading / (reading + w.Turns()*decode)
	share := c[QueueShare] + c[BusyShare]*busy
	if !w.Together {
		return others * share
	}
	return others*(share+c[TogetherShare]) + c[TogetherPrompts]*min(1, others/convoy)
}

// convoy is the number of other requests from which on a request of a convoy waits for TogetherPrompts further prompts in
// the mean.
const convoy = 8

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

// prompt returns the time to read a prompt in each attention-data-parallel group, in chunks that follow one another
// through the stages.
func (s *instance) prompt(w Workload) float64 {
	chunks := w.chunks()
	b := w.alone(chunks, s.data)
	slowest, sum := s.pass(b)
	host := s.c[TokenSeconds] * b.prompt / s.data
	return soft(sum, host) + (chunks-1)*soft(slowest, host) + chunks*(s.c[StepSeconds]+s.drafting(&b))
}

// chunks returns in how many steps a prompt is read.
func (w *Workload) chunks() float64 { return max(1, w.Read()/w.MaxBatchedTokens) }

// alone returns one of so many chunks of a prompt on each data rank.
func (w *Workload) alone(chunks, data float64) batch {
	return batch{prompt: w.Read() / chunks * data, length: w.Input, found: w.Found, finished: data / chunks, patches: w.Patches}
}

// host returns the host's work for a batch.
func (s *instance) host(b *batch) float64 {
	return (s.c[SequenceSeconds]*b.sequences + s.c[TokenSeconds]*b.prompt) / s.data
}

// decoding returns a batch in which so many sequences get a token each.
func (w Workload) decoding(sequences float64) batch {
	return batch{sequences: sequences, context: w.Input + w.Output/2, drafted: w.Drafted}
}

// decode returns the time of a step in which so many sequences get a token each.
func (s *instance) decode(w Workload, sequences float64) float64 {
	return s.step(w.decoding(sequences))
}

// step returns the time of a whole step. The stages of a pipeline each work on a share of the batch at the same time; for
// the host every share is a step of its own. The engine prepares a step while the devices still work on the one before.
func (s *instance) step(b batch) float64 {
	devices, host := s.round(&b)
	return s.stages * (soft(devices, host) + s.c[StepSeconds] + s.drafting(&b))
}

// round reduces a batch to the share that each stage works on at the same time, and returns the devices' and the host's
// time for it.
func (s *instance) round(b *batch) (devices, host float64) {
	if s.stages > 1 {
		*b = b.share(s.stages)
	}
	devices, _ = s.pass(*b)
	if s.stages > 1 {
		devices /= s.c[StageShare]
	}
	return devices, s.host(b)
}

// interleaved returns the mean time between two tokens of a request while the prompts of others are read: as many of its
// steps carry a chunk as those prompts need, and the rest only decode.
func (s *instance) interleaved(w Workload, others, decode float64) float64 {
	tokens := w.prompts(others)
	turns := w.Turns()
	if tokens <= 0 {
		return decode * (turns / w.Output)
	}
	chunk := s.chunk(&w, tokens)
	steps := tokens / chunk
	return (steps*s.step(w.mixed(chunk)) + max(0, turns-steps)*decode) / w.Output
}

// prompts returns the tokens that are read for so many requests: their prompts, and what is computed again.
func (w *Workload) prompts(requests float64) float64 { return requests * (w.Read() + w.Again) }

// chunk returns how many of so many tokens of prompts one step carries.
func (s *instance) chunk(w *Workload, tokens float64) float64 {
	room := max(1, w.MaxBatchedTokens*s.data*s.stages-w.Concurrency)
	return min(room, max(w.Read(), tokens/w.Turns()))
}

// mixed returns a batch in which all running sequences get a token, with a chunk of prompts.
func (w *Workload) mixed(chunk float64) batch {
	return batch{
		sequences: w.Concurrency, context: w.Input + w.Output/2, drafted: w.Drafted,
		prompt: chunk, length: w.Input, found: w.Found, finished: chunk / w.Read(), patches: w.Patches,
	}
}

// throughput returns output tokens per second. A bounded number of requests runs in waves, the last one smaller.
func (s *instance) throughput(w Workload) float64 {
	w.Concurrency *= s.c[WaveShare]
	admitted := w.Requests * w.RequestSeconds
	switch {
	case w.Requests > 0 && w.Variation > 0:
		return w.Requests * w.Output / (s.drained(w) + admitted)
	case w.Requests <= 0 || w.Requests > 8*w.Concurrency:
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
	return w.Requests * w.Output / (t + admitted)
}

func (s *instance) wave(w Workload, sequences float64) float64 {
	w.Concurrency = max(1, sequences)
	return w.Output * s.interleaved(w, sequences, s.decode(w, sequences))
}

// ServeUnder evaluates a query at the largest concurrency up to the query's at which a token takes at most limit seconds,
// with requests that arrive at random.
func ServeUnder(q *Query, c *Constants, limit float64) Times {
	s := newInstance(q, c)
	w := q.Workload.bounded()
	w.Concurrency = s.largest(w, limit/math.Exp(q.Correction.Pace))
	t := q.Correction.of(s.serve(w))
	t.OutputTokensPerSecond *= c[ArrivalShare]
	return t
}

// near is the relative distance from the limit within which a time per token, or its concurrency, counts as met.
const near = 1e-5

// largest returns the concurrency for ServeUnder, at least 1. It uses the false position with halved ends (Illinois),
// which needs few steps since times are nearly linear in the concurrency.
func (s *instance) largest(w Workload, limit float64) float64 {
	over := func(concurrency float64) float64 {
		w.Concurrency = concurrency
		return s.interleaved(w, concurrency-1, s.decode(w, concurrency)) - limit
	}
	low, high := 1.0, w.Concurrency
	below, above := 0.0, over(high)
	if above <= 0 {
		return high
	}
	if below = over(low); below >= 0 {
		return low
	}
	side := 0
	for range 60 {
		at := (low*above - high*below) / (above - below)
		switch t := over(at); {
		case t > 0:
			high, above = at, t
			if side > 0 {
				below /= 2
			}
			side = 1
		default:
			low, below = at, t
			if side < 0 {
				above /= 2
			}
			side = -1
			if -t < near*limit {
				return low
			}
		}
		if high-low < near*low {
			break
		}
	}
	return low
}
