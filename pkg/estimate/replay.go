package estimate

import (
	"errors"
	"fmt"
	"math"

	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/memory"
	"github.com/rankwright/rankwright/pkg/replay"
)

// Replayed is an estimate in closed form for the lengths of a trace, and what a simulated server made of its requests one by one.
type Replayed struct {
	*Answer
	// Replay is what was simulated, absent where the model does not fit.
	Replay *Simulated `json:"replay,omitempty"`
	// ArrivalsPerSecond is the rate at which requests arrive in the mean, absent where they are sent at once or by so many clients. Overload says that the
	// deployment delivers less than arrives, so that requests wait the longer the longer it goes on.
	ArrivalsPerSecond float64 `json:"arrivalsPerSecond,omitempty"`
	Overload          bool    `json:"overload,omitempty"`
	// EndToEndMillis is the closed form's time from sending a request to its last token, of a request in the mean.
	EndToEndMillis float64 `json:"endToEndMillis,omitempty"`
}

// Simulated is what became of the requests.
type Simulated struct {
	Requests              int                `json:"requests"`
	Seconds               float64            `json:"seconds"`
	InputTokens           int                `json:"inputTokens"`
	OutputTokens          int                `json:"outputTokens"`
	OutputTokensPerSecond float64            `json:"outputTokensPerSecond"`
	TTFTMillis            replay.Percentiles `json:"ttftMillis"`
	TPOTMillis            replay.Percentiles `json:"tpotMillis"`
	EndToEndMillis        replay.Percentiles `json:"endToEndMillis"`
	// Running is how many requests of a replica got a token in a step in the mean, Preemptions how often one gave up its cache and was computed again, Refused how
	// many requests are longer than the cache.
	Running     float64 `json:"running"`
	Preemptions int     `json:"preemptions"`
	Refused     int     `json:"refused,omitempty"`
}

// WithLengths returns a load with the lengths of a trace. Its longest sequence is the trace's where the load says none.
func (l Load) WithLengths(of replay.Lengths) Load {
	l.Input, l.Output, l.Variation, l.Lengths = of.Input, of.Output, of.Variation, &of
	l.Longest = max(l.Longest, of.Longest)
	return l
}

// Replay runs the requests of a trace through a simulated server of a deployment, whose steps take what the model of costs says, and estimates the same in closed form.
// A trace with times of arrival is sent by them, one without at once; with a concurrency, so many are in flight until all are served. Replicas get requests in turn.
// A function that is told how many requests ended may be nil.
func Replay(s Serving, t *replay.Trace, progress func(ended int)) (*Replayed, error) {
	if s.MaxTPOT > 0 {
		return nil, errors.New("max-tpot: a replay serves the requests that it is given: leave it out")
	}
	if len(t.Requests) == 0 {
		return nil, errors.New("the trace has no requests")
	}
	s.Load = s.WithLengths(t.Lengths())
	r := &Replayed{}
	if s.Concurrency == 0 {
		r.ArrivalsPerSecond = t.Rate()
	}
	s.Requests = int64(len(t.Requests))
	if r.ArrivalsPerSecond > 0 {
		s.Requests = 0
	}
	var err error
	if r.Answer, err = Serve(s); err != nil || !r.Fits {
		return r, err
	}
	if r.ArrivalsPerSecond > 0 {
		if err := r.settle(&s); err != nil {
			return nil, err
		}
	}
	r.EndToEndMillis = rounded(*r.TTFTMillis + *r.TPOTMillis*float64(s.Output-1))
	server, err := r.server(&s)
	if err != nil {
		return nil, err
	}
	got := server.Spread(t, r.Replicas, progress)
	r.show(got)
	r.Warnings = append(r.Warnings, t.Assumptions...)
	return r, nil
}

// settle estimates at the load at which requests leave as fast as they arrive, which is the least with as many tokens a second; at the most that can run where
// they never do.
func (r *Replayed) settle(s *Serving) error {
	asked := r.ArrivalsPerSecond * float64(s.Output)
	if r.Overload = *r.OutputTokensPerSecond < asked; r.Overload {
		return nil
	}
	low, high := int64(0), r.Concurrency.Running
	best := r.Answer
	for high-low > 1 {
		s.Concurrency = (low + high) / 2
		a, err := Serve(*s)
		if err != nil {
			return err
		}
		if *a.OutputTokensPerSecond < asked {
			low = s.Concurrency
		} else {
			high, best = s.Concurrency, a
		}
	}
	s.Concurrency = 0
	r.Answer = best
	r.Concurrency.LimitedBy = "arrivals"
	return nil
}

// server returns a simulated server of a replica. It has so many of its places and of the cache's tokens as engines keep busy.
func (r *Replayed) server(s *Serving) (*replay.Server, error) {
	q, c := r.query, r.constants
	groups := int64(max(1, q.Strategy.AttentionData))
	tokens, err := r.tokens()
	if err != nil {
		return nil, err
	}
	busy := c[cost.WaveShare]
	steps := cost.NewSteps(q, c)
	server := &replay.Server{
		Places: int(max(1, busy*float64(r.Concurrency.Engine)/float64(r.Replicas))), Room: int(max(1, busy*float64(tokens*groups))),
		Budget:   int(q.Workload.MaxBatchedTokens) * int(groups) * r.Degrees.Pipeline,
		Reserves: !s.Engine.Memory.Preemption.Recomputes,
		Start:    c[cost.FirstSeconds], Admission: serverSeconds, FirstFactor: math.Exp(q.Correction.First),
		Step: func(b replay.Batch) float64 {
			return steps.Seconds(b.Sequences, b.Context, b.Prompt, b.Length, b.Finished)
		},
	}
	if s.Concurrency > 0 {
		server.Clients = int(max(1, s.Concurrency/int64(r.Replicas)))
	}
	return server, nil
}

// tokens returns how many tokens the cache of a rank holds, by what a typical running sequence takes of the fullest stage.
func (r *Replayed) tokens() (int64, error) {
	setup := r.footprint.Setup()
	typical := *setup.Inference
	if typical.Mean > 0 {
		typical.MaxModelLen = typical.Mean
	}
	typical.Mean, typical.Deviation, typical.Sequences = 0, 0, int64(max(1, setup.Layout.AttentionData))
	setup.Inference = &typical
	f, err := memory.New(setup, r.device)
	if err != nil {
		return 0, fmt.Errorf("cache of a sequence of %d tokens: %w", typical.MaxModelLen, err)
	}
	least := int64(math.MaxInt64)
	for i := range r.Stages {
		stage := &r.Stages[i]
		if each := f.Use(stage.FirstLayer, stage.LastLayer+1).Cache; each > 0 {
			least = min(least, int64(float64(stage.CacheRoom)/float64(each)*float64(typical.MaxModelLen)))
		}
	}
	return min(least, maxConcurrency), nil
}

// show fills in what was simulated.
func (r *Replayed) show(got *replay.Result) {
	const millis = 1e3
	inMillis := func(p replay.Percentiles) replay.Percentiles {
		p = p.Scaled(millis)
		return replay.Percentiles{Mean: rounded(p.Mean), P50: rounded(p.P50), P90: rounded(p.P90), P99: rounded(p.P99)}
	}
	r.Replay = &Simulated{
		Requests: got.Requests, Seconds: rounded(got.Seconds), InputTokens: got.InputTokens, OutputTokens: got.OutputTokens, OutputTokensPerSecond: rounded(got.OutputTokensPerSecond()),
		TTFTMillis: inMillis(got.TTFT), TPOTMillis: inMillis(got.TPOT), EndToEndMillis: inMillis(got.EndToEnd),
		Running: rounded(got.Running), Preemptions: got.Preemptions, Refused: got.Refused,
	}
}
