package explain

import (
	"fmt"
	"slices"

	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/plan/search"
	"github.com/rankwright/rankwright/pkg/shape"
)

// SettingOutcome is a setting of the request, and what came of its shapes.
type SettingOutcome struct {
	shape.Setting
	// Tokens and Sequences are the batch of a step; both are 0 in training, and where kinds of device differ.
	Tokens, Sequences int64
	// Taken says that the plan is in this setting. Outcome says why it was not taken, or that it was not needed.
	Taken   bool
	Outcome string
}

// settings returns what came of the settings of the request. The plan has the format with index chosen in the ladder; the
// shapes of later formats were not looked at.
func (e *explainer) settings(chosen int) []SettingOutcome {
	t := e.Problem
	var list []SettingOutcome
	for s := range t.Settings() {
		at := slices.Index(t.Ladder, s.Format)
		// Settings in which ranks share out the tokens of a sequence are listed only where the plan needed one.
		if s.Divided && s != e.Setting {
			continue
		}
		r := SettingOutcome{Setting: s}
		if t.Workload.Training != nil {
			r.Cache = ""
		}
		switch {
		case s == e.Setting:
			r.Taken, r.Outcome = true, "taken"
			r.Tokens, r.Sequences = e.batch()
		case at > chosen || at == chosen && s.Lean && !e.Lean:
			if s.Lean {
				continue
			}
			r.Outcome = "not needed"
		case at == chosen && e.Lean && !s.Lean && holds(t.Tier(s)):
			r.Outcome = "fits, but not on so few devices"
		default:
			r.Outcome = fruitless(t.Tier(s))
		}
		list = append(list, r)
	}
	return list
}

// batch is the batch of a step on the plan's first devices.
func (e *explainer) batch() (tokens, sequences int64) {
	shapes := e.spec.Shapes()
	f := e.Footprint(e.classOf(&shapes[0]), shape.ShapeOf(&shapes[0].Strategy))
	if in := f.Setup().Inference; in != nil {
		return in.BatchedTokens, in.BatchedSequences
	}
	return 0, 0
}

// holds says whether any shape of the tier has room for all copies.
func holds(a *shape.Tier) bool {
	c, _ := search.Placeable(a, a.Candidates(a.Levels[len(a.Levels)-1]))
	return c != nil
}

// fruitless says why a tier found nothing.
func fruitless(a *shape.Tier) string {
	candidates := a.Candidates(a.Levels[len(a.Levels)-1])
	kept := shape.KeepingLimits(candidates)
	switch {
	case len(kept) > 0:
		return fmt.Sprintf("%s in memory, none has room for all copies", shapesFit(len(kept)))
	case len(candidates) > 0:
		best := nearest(a, candidates, 1)[0]
		return fmt.Sprintf("%s in memory, none keeps the limits; nearest is %s: %s", shapesFit(len(candidates)), a.Title(best), best.Why())
	}
	return tightest(a)
}

// tightest says how many bytes the tier lacked.
func tightest(a *shape.Tier) string {
	var best *shape.Pool
	largest := int64(0)
	for _, p := range a.Levels[len(a.Levels)-1] {
		if best == nil || p.Free > best.Free {
			best = p
		}
		for _, kind := range p.Kinds {
			largest = max(largest, p.Parts[kind[0]].Caps[0])
		}
	}
	if best == nil {
		return "no device matches"
	}
	one := shape.Shape{Tensor: max(1, a.Problem.Asked.Tensor), Stages: 1, Data: 1, Expert: 1}
	f := a.Footprint(-1, one)
	if f == nil {
		return "no shape that was asked for divides the model"
	}
	return fmt.Sprintf("no shape fits: a copy in one stage needs %s on each of %s; the largest free device offers %s, all of one vendor %s",
		words.HumanBytes(f.Bytes(0, f.Layers)), words.Counted(one.Tensor, "device"), words.HumanBytes(largest), words.HumanBytes(best.Free))
}
