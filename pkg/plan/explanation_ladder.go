package plan

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
)

// Rung is a precision that is tried, with the engine's default batches or with lean ones.
type Rung struct {
	Weights, Cache v1alpha1.Precision
	// Native says that only devices which compute the weights' format count.
	Native bool
	// Tokens and Sequences are the batch of a step; both are 0 in training, and where kinds of device differ.
	Tokens, Sequences int64
	Lean              bool
	// Taken says that the plan uses this rung. Outcome says why it was not taken, or that it was not needed.
	Taken   bool
	Outcome string
}

// rungs returns the ladder of the request. The plan is in the step with index chosen; later precisions were not tried.
func (e *explainer) rungs(chosen int) []Rung {
	t := e.task
	var list []Rung
	for i, s := range t.ladder {
		if i > 0 && t.sameAs(s, t.ladder[i-1]) {
			continue
		}
		for _, how := range t.tries() {
			// Tries in which ranks share out the tokens of a sequence are listed only where the plan needed one.
			if how.divided && (i != chosen || how != e.try) {
				continue
			}
			r := Rung{Weights: s.format, Cache: s.cache, Native: s.native, Lean: how.lean}
			if t.workload.Training != nil {
				r.Cache = ""
			}
			switch {
			case i == chosen && how == e.try:
				r.Taken, r.Outcome = true, "taken"
				r.Tokens, r.Sequences = e.batch()
			case i > chosen || i == chosen && how.lean && !e.lean:
				if how.lean {
					continue
				}
				r.Outcome = "not needed"
			case i == chosen && e.lean && !how.lean && t.attempt(s, how).holds():
				r.Outcome = "fits, but not on so few devices"
			default:
				r.Outcome = t.attempt(s, how).fruitless()
			}
			list = append(list, r)
		}
	}
	return list
}

// batch is the batch of a step on the plan's first devices.
func (e *explainer) batch() (tokens, sequences int64) {
	shapes := e.spec.Shapes()
	f := e.footprint(e.classOf(&shapes[0]), shapeOf(&shapes[0].Strategy))
	if in := f.Setup().Inference; in != nil {
		return in.BatchedTokens, in.BatchedSequences
	}
	return 0, 0
}

// holds says whether any shape of the attempt has room for all copies.
func (a *attempt) holds() bool {
	c, _ := a.best(a.all(a.levels[len(a.levels)-1]))
	return c != nil
}

// fruitless says why an attempt found nothing.
func (a *attempt) fruitless() string {
	candidates := a.all(a.levels[len(a.levels)-1])
	kept := keeping(candidates)
	switch {
	case len(kept) > 0:
		return fmt.Sprintf("%s in memory, none has room for all copies", shapesFit(len(kept)))
	case len(candidates) > 0:
		best := a.nearest(candidates, 1)[0]
		return fmt.Sprintf("%s in memory, none keeps the limits; nearest is %s: %s", shapesFit(len(candidates)), a.title(best), a.task.missedText(best))
	}
	return a.tightest()
}

// tightest says how many bytes the attempt lacked.
func (a *attempt) tightest() string {
	var best *pool
	largest := int64(0)
	for _, p := range a.levels[len(a.levels)-1] {
		if best == nil || p.free > best.free {
			best = p
		}
		for _, kind := range p.kinds {
			largest = max(largest, p.parts[kind[0]].caps[0])
		}
	}
	if best == nil {
		return "no device matches"
	}
	one := shape{tensor: max(1, a.task.asked.tensor), stages: 1, data: 1, expert: 1}
	f := a.footprint(-1, one)
	if f == nil {
		return "no shape that was asked for divides the model"
	}
	return fmt.Sprintf("no shape fits: a copy in one stage needs %s on each of %s; the largest free device offers %s, all of one vendor %s",
		words.HumanBytes(f.bytes(0, f.layers)), words.Counted(one.tensor, "device"), words.HumanBytes(largest), words.HumanBytes(best.free))
}
