package search

import (
	"cmp"
	"math"
	"slices"

	"github.com/rankwright/rankwright/pkg/shape"
)

// Ranking is candidates in the order in which they are to be tried.
type Ranking struct {
	problem *shape.Problem
	left    []*shape.Candidate
}

// Rank returns candidates in the order of the objective. It changes the list.
func Rank(t *shape.Problem, candidates []*shape.Candidate) *Ranking { return &Ranking{t, candidates} }

// Next removes and returns the best candidate: among those within the tolerance of the best value the one with the fewest
// devices, then the best value, then the smallest devices. Candidates whose times are known come first.
func (r *Ranking) Next() *shape.Candidate {
	if len(r.left) == 0 || r.problem.Stopped() {
		return nil
	}
	judged := slices.ContainsFunc(r.left, func(c *shape.Candidate) bool { return c.Judged })
	best := math.Inf(1)
	for _, c := range r.left {
		if c.Judged == judged {
			best = min(best, c.Value)
		}
	}
	near := math.Inf(1)
	if tolerance := r.problem.Tolerance(judged); !math.IsInf(tolerance, 1) {
		near = best * (1 + tolerance)
	}
	at := -1
	for i, c := range r.left {
		if c.Judged == judged && c.Value <= near && (at < 0 || r.compare(c, r.left[at]) < 0) {
			at = i
		}
	}
	c := r.left[at]
	r.left = slices.Delete(r.left, at, at+1)
	return c
}

// compare orders equally good candidates: fewest devices, then those whose ranks have caches of their own, since no engine does otherwise by
// itself and nobody measured it for us, then the best value, then what is simpler to run. Where the times do not decide, one tensor group
// comes before a pipeline, and small devices before large ones.
func (r *Ranking) compare(a, b *shape.Candidate) int {
	x, y := r.problem.Cluster.Class(a.Flavor.Class), r.problem.Cluster.Class(b.Flavor.Class)
	across, smaller := 0, 0
	if !a.Judged {
		across = shape.CompareBools(a.Stages > 1, b.Stages > 1)
		smaller = cmp.Compare(x.TotalBytes, y.TotalBytes)
	}
	return cmp.Or(
		across, cmp.Compare(a.Total(), b.Total()), smaller, shape.CompareBools(a.Decode > 1, b.Decode > 1), cmp.Compare(a.Value, b.Value),
		cmp.Compare(a.Data, b.Data), cmp.Compare(a.Stages, b.Stages), cmp.Compare(a.Expert, b.Expert), cmp.Compare(a.Context, b.Context), cmp.Compare(a.Decode, b.Decode),
		cmp.Compare(x.TotalBytes, y.TotalBytes), shape.CompareFlavors(x, y, a.Flavor, b.Flavor),
	)
}

// fewest returns the candidates one by one in the order of their number of devices; equal ones in the order of the
// ranking.
func (r *Ranking) fewest() func() *shape.Candidate {
	slices.SortStableFunc(r.left, func(x, y *shape.Candidate) int { return cmp.Or(cmp.Compare(x.Total(), y.Total()), r.compare(x, y)) })
	return func() *shape.Candidate {
		if len(r.left) == 0 || r.problem.Stopped() {
			return nil
		}
		c := r.left[0]
		r.left = r.left[1:]
		return c
	}
}
