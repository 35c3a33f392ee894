package estimate

import (
	"math"

	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/memory"
)

// Explanation is the arithmetic behind an answer.
type Explanation struct {
	// Stages are the lines of memory, by stage.
	Stages [][]memory.Line
	// Terms are what parts of the work add to the times; empty where the model does not fit.
	Terms []Term
	// Query is what the times of a replica are computed for, with Constants, and Served what comes of it; nil where the model
	// does not fit, or trains.
	Query     *cost.Query
	Constants *cost.Constants
	Served    *cost.Estimate
}

// Term is a part of the work, with how much sooner a token and the first token would come without it. Parts overlap, so
// their times do not add up.
type Term struct {
	Name                   string
	TPOTMillis, TTFTMillis float64
	// What describes the part in words.
	What string
}

// never replaces a share of a peak, so that the work takes no time.
const never = 1e12

// terms are the parts of the work, each with the constants through which it takes time.
var terms = []struct {
	name, what string
	free       func(*cost.Constants)
}{
	{"weights", "reading weights from the device's memory", set(never, cost.WeightShare)},
	{"cache", "reading keys and values", set(never, cost.CacheShare)},
	{"arithmetic", "products of matrices and attention", set(never, cost.LinearShare16, cost.LinearShare8, cost.LinearShare4, cost.AttentionShare)},
	{"collectives", "all-reduces and exchanges between ranks", func(c *cost.Constants) {
		set(0, cost.ReduceSeconds, cost.HostReduceSeconds)(c)
		set(never, cost.LinkShare, cost.HostLinkShare)(c)
	}},
	{"launches", "starting kernels, layer by layer", set(0, cost.LayerSeconds, cost.MixtureSeconds)},
	{"host", "the host's work for a step, its sequences and tokens", set(0, cost.StepSeconds, cost.SequenceSeconds, cost.TokenSeconds)},
	{"admission", "from arrival to the first step, and prompts ahead", set(0, cost.FirstSeconds, cost.QueueShare, cost.BusyShare)},
}

func set(value float64, constants ...cost.Constant) func(*cost.Constants) {
	return func(c *cost.Constants) {
		for _, k := range constants {
			c[k] = value
		}
	}
}

// Explain returns the arithmetic of an answer.
func (a *Answer) Explain() Explanation {
	e := Explanation{Stages: explainStages(a.footprint, a.Stages)}
	if a.query == nil {
		return e
	}
	e.Query, e.Constants, e.Served = a.explained(), a.constants, a.served
	with := cost.Serve(a.query, a.constants)
	for _, t := range terms {
		c := *a.constants
		t.free(&c)
		without := cost.Serve(a.query, &c)
		e.Terms = append(e.Terms, Term{
			Name: t.name, What: t.what, TPOTMillis: millis(with.TPOT - without.TPOT), TTFTMillis: millis(with.TTFT - without.TTFT),
		})
	}
	return e
}

// explained is the query that the times are of. Under a limit of the time per token that is the number of requests at which it is met,
// of which the answer's is whole.
func (a *Answer) explained() *cost.Query {
	if a.Concurrency.LimitedBy != "maxTPOT" {
		return a.query
	}
	q := *a.query
	low, high := 1.0, 2*q.Workload.Concurrency
	for range 40 {
		q.Workload.Concurrency = (low + high) / 2
		if cost.Serve(&q, a.constants).TPOT > a.served.TPOT.Value {
			high = q.Workload.Concurrency
		} else {
			low = q.Workload.Concurrency
		}
	}
	return &q
}

// Explain returns the arithmetic of a training job's memory.
func (t *Trained) Explain() Explanation {
	return Explanation{Stages: explainStages(t.footprint, t.Stages)}
}

func explainStages(f *memory.Footprint, stages []Stage) [][]memory.Line {
	var list [][]memory.Line
	for i := range stages {
		list = append(list, f.Explain(stages[i].FirstLayer, stages[i].LastLayer+1))
	}
	return list
}

// millis converts seconds into milliseconds, rounded to a microsecond.
func millis(seconds float64) float64 { return math.Round(max(0, seconds)*1e6) / 1e3 }
