package search

import (
	"iter"

	"github.com/rankwright/rankwright/pkg/plan/place"
	"github.com/rankwright/rankwright/pkg/shape"
)

// Best tries formats from the widest on, each with the engine's default batches and then with lean ones, and returns the
// best solution in the first that has any, with what was tried before. Where the number of copies is open, it chooses one; the
// solution's tier then has the problem in that number.
func Best(t *shape.Problem) (*Solution, *Rejections) {
	if t.Open {
		t = t.With(t.InCopies(Number(t)))
	}
	log := &Rejections{Problem: t}
	return first(t, t.Settings(), log), log
}

// first returns the best solution in the first setting that has any.
func first(t *shape.Problem, settings iter.Seq[shape.Setting], log *Rejections) *Solution {
	for setting := range settings {
		if t.Stopped() {
			break
		}
		if found := solve(t.Tier(setting), log); found != nil {
			return found
		}
	}
	return nil
}

// solve finds the best solution of the tier: all copies in one shape on one kind of device; else copies of different
// shapes; else pipelines over several kinds. The preferred topology level comes before what is required.
func solve(a *shape.Tier, log *Rejections) *Solution {
	for _, pools := range a.Levels {
		candidates := a.Candidates(pools)
		if c, l := Placeable(a, candidates); c != nil {
			if lean := leaner(a, pools, c.Total()); len(lean) > 0 {
				candidates = append(candidates, lean...)
				c, l = Placeable(a, candidates)
			}
			return &Solution{c.Tier, []Portion{portion(c, l)}, candidates, c, log}
		}
		if portions := different(a, pools); portions != nil {
			return &Solution{a, portions, candidates, nil, log}
		}
		for _, c := range a.Mixed(pools) {
			if l, ok := placed(c); ok {
				return &Solution{a, []Portion{portion(c, l)}, candidates, c, log}
			}
		}
		log.addMissed(a, candidates)
	}
	log.tooLarge(a)
	return nil
}

// Placeable returns the first candidate in the order of the objective that can be placed, with its layout; nil where none can.
func Placeable(a *shape.Tier, candidates []*shape.Candidate) (*shape.Candidate, shape.Layout) {
	ranked := Rank(a.Problem, shape.KeepingLimits(candidates))
	for c := ranked.Next(); c != nil; c = ranked.Next() {
		if l, ok := placed(c); ok {
			return c, l
		}
	}
	return nil, shape.Layout{}
}

// placed places all copies of a candidate, if there is room for them, which takes less to find out within zones.
func placed(c *shape.Candidate) (shape.Layout, bool) {
	if len(c.Flavor.Pool.Zones) > 0 && !HasRoom(c) {
		return shape.Layout{}, false
	}
	return place.Copies(c, c.Tier.Problem.Copies)
}

// leaner returns the candidates that lean batches allow on fewer devices than some: the engine's default batches should
// not cost a device.
func leaner(a *shape.Tier, pools []*shape.Pool, devices int) []*shape.Candidate {
	if a.Lean || devices < 2 || a.Problem.Workload.Training != nil {
		return nil
	}
	return a.Leanly(devices).Candidates(pools)
}
