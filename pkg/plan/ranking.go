package plan

import (
	"cmp"
	"math"
	"slices"
)

// ranking is candidates in the order in which they are to be tried.
type ranking struct {
	task *task
	left []*candidate
}

// rank returns candidates in the order of the objective. It changes the list.
func rank(t *task, candidates []*candidate) *ranking { return &ranking{t, candidates} }

// next removes and returns the best candidate: among those within the tolerance of the best value the one with the fewest
// devices, then the best value, then the smallest devices. Candidates whose times are known come first.
func (r *ranking) next() *candidate {
	if len(r.left) == 0 {
		return nil
	}
	judged := slices.ContainsFunc(r.left, func(c *candidate) bool { return c.judged })
	best := math.Inf(1)
	for _, c := range r.left {
		if c.judged == judged {
			best = min(best, c.value)
		}
	}
	near := math.Inf(1)
	if tolerance := r.task.tolerance(judged); !math.IsInf(tolerance, 1) {
		near = best * (1 + tolerance)
	}
	at := -1
	for i, c := range r.left {
		if c.judged == judged && c.value <= near && (at < 0 || r.compare(c, r.left[at]) < 0) {
			at = i
		}
	}
	c := r.left[at]
	r.left = slices.Delete(r.left, at, at+1)
	return c
}

// compare orders equally good candidates: fewest devices, then the best value, then what is simpler to run. Where the
// times do not decide, one tensor group comes before a pipeline, and small devices before large ones.
func (r *ranking) compare(a, b *candidate) int {
	x, y := r.task.cluster.Class(a.lane.class), r.task.cluster.Class(b.lane.class)
	across, smaller := 0, 0
	if !a.judged {
		across = compareBools(a.stages > 1, b.stages > 1)
		smaller = cmp.Compare(x.TotalBytes, y.TotalBytes)
	}
	return cmp.Or(
		across, cmp.Compare(a.total(), b.total()), smaller, cmp.Compare(a.value, b.value),
		cmp.Compare(a.data, b.data), cmp.Compare(a.stages, b.stages), cmp.Compare(a.expert, b.expert), cmp.Compare(a.context, b.context), cmp.Compare(a.decode, b.decode),
		cmp.Compare(x.TotalBytes, y.TotalBytes), compareLanes(x, y, a.lane, b.lane),
	)
}

// fewest returns the candidates one by one in the order of their number of devices; equal ones in the order of the
// ranking.
func (r *ranking) fewest() func() *candidate {
	slices.SortStableFunc(r.left, func(x, y *candidate) int { return cmp.Or(cmp.Compare(x.total(), y.total()), r.compare(x, y)) })
	return func() *candidate {
		if len(r.left) == 0 {
			return nil
		}
		c := r.left[0]
		r.left = r.left[1:]
		return c
	}
}
