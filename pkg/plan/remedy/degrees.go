package remedy

import (
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/plan/search"
	"github.com/rankwright/rankwright/pkg/shape"
)

// degreeField is a degree of parallelism that a request can ask for.
type degreeField struct {
	name  string
	field func(*v1alpha1.Parallelism) **int32
	found func(*search.Portion) int
}

// degreeFields are the degrees that a remedy may free, in the order in which it frees them.
var degreeFields = []degreeField{
	{"pipeline", func(p *v1alpha1.Parallelism) **int32 { return &p.Pipeline }, func(p *search.Portion) int { return p.Stages }},
	{"tensor", func(p *v1alpha1.Parallelism) **int32 { return &p.Tensor }, func(p *search.Portion) int { return p.Tensor }},
	{"expert", func(p *v1alpha1.Parallelism) **int32 { return &p.Expert }, func(p *search.Portion) int { return p.Expert }},
}

// otherDegrees returns the smallest change of the asked-for degrees that helps: the fewest of them, with the values that
// the plan then has.
func otherDegrees(t *shape.Problem, _ []search.Family) []Remedy {
	p := t.Spec.Parallelism
	if p == nil {
		return nil
	}
	var asked []degreeField
	for _, f := range degreeFields {
		if *f.field(p) != nil {
			asked = append(asked, f)
		}
	}
	for n := 1; n <= len(asked); n++ {
		for _, free := range choices(len(asked), n) {
			var fields []degreeField
			for _, i := range free {
				fields = append(fields, asked[i])
			}
			if r := setFree(t, fields); r != nil {
				return r
			}
		}
	}
	return nil
}

// choices returns all ways to choose k of the numbers 0 to n-1, in order.
func choices(n, k int) [][]int {
	if k == 0 {
		return [][]int{nil}
	}
	var all [][]int
	for last := k - 1; last < n; last++ {
		for _, c := range choices(last, k-1) {
			all = append(all, append(c[:len(c):len(c)], last))
		}
	}
	return all
}

// setFree plans with some degrees free, and then with the degrees of the plan that was found.
func setFree(t *shape.Problem, fields []degreeField) []Remedy {
	other := t.With(func(s *v1alpha1.ModelPlacementSpec) {
		for _, f := range fields {
			*f.field(s.Parallelism) = nil
		}
	})
	if other == nil || !search.Fits(other) {
		return nil
	}
	found, _ := search.Best(other)
	if found == nil {
		return nil
	}
	degrees := make([]int32, len(fields))
	var changes []string
	for i, f := range fields {
		degrees[i] = int32(f.found(&found.Portions[0]))
		changes = append(changes, fmt.Sprintf("parallelism.%s %d instead of %d", f.name, degrees[i], **f.field(t.Spec.Parallelism)))
	}
	set := func(s *v1alpha1.ModelPlacementSpec) {
		for i, f := range fields {
			*f.field(s.Parallelism) = &degrees[i]
		}
	}
	if len(found.Portions) > 1 || !fitsWith(t, set) { // copies of different shapes need them free
		changes = nil
		for _, f := range fields {
			changes = append(changes, fmt.Sprintf("parallelism.%s left out", f.name))
		}
		set = func(s *v1alpha1.ModelPlacementSpec) {
			for _, f := range fields {
				*f.field(s.Parallelism) = nil
			}
		}
	}
	return oneRemedy(KindDegrees, strings.Join(changes, " and "), set)
}

// fewerRanks returns the most data ranks that fit with the same number of copies.
func fewerRanks(t *shape.Problem, _ []search.Family) []Remedy {
	if t.Asked.Data < 2 {
		return nil
	}
	batch := t.Asked.Data
	if training := t.Workload.Training; training != nil {
		batch = int(training.GlobalBatch) / max(1, int(training.MicroBatch))
	}
	for n := t.Asked.Data - 1; n > 0; n-- {
		if batch%n != 0 && t.Workload.Training != nil {
			continue
		}
		ranks := int32(n)
		apply := func(s *v1alpha1.ModelPlacementSpec) { s.Parallelism.Data = &ranks }
		if fitsWith(t, apply) {
			return oneRemedy(KindDegrees, fmt.Sprintf("parallelism.data %d instead of %d", n, t.Asked.Data), apply)
		}
	}
	return nil
}

// widerTopology turns a required topology level into a preferred one.
func widerTopology(t *shape.Problem, _ []search.Family) []Remedy {
	level := t.Require.Level
	if level == "" {
		return nil
	}
	apply := func(s *v1alpha1.ModelPlacementSpec) {
		s.Topology = &v1alpha1.TopologyRequirements{Preferred: &level}
	}
	if !fitsWith(t, apply) {
		return nil
	}
	return oneRemedy(KindTopology, fmt.Sprintf("topology.preferred instead of topology.required %s", level), apply)
}
