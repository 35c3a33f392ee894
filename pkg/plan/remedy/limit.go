package remedy

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/plan/search"
	"github.com/rankwright/rankwright/pkg/shape"
)

// limitField is a limit of time of a request.
type limitField struct {
	name  string
	field func(*v1alpha1.InferenceWorkload) **int32
	value func(latency) int32
}

var limitFields = []limitField{
	{"maxTTFTMillis", func(w *v1alpha1.InferenceWorkload) **int32 { return &w.MaxTTFTMillis }, func(l latency) int32 { return l.ttft }},
	{"maxTPOTMillis", func(w *v1alpha1.InferenceWorkload) **int32 { return &w.MaxTPOTMillis }, func(l latency) int32 { return l.tpot }},
}

// latency is the TTFT and the TPOT of a candidate in milliseconds, rounded up.
type latency struct{ ttft, tpot int32 }

// laterLimits returns the least value of each limit that can be kept with the other limit unchanged; where neither alone
// is enough, both limits raised by the smallest common factor.
func laterLimits(t *shape.Problem, families []search.Family) []Remedy {
	if !t.Limited() {
		return nil
	}
	times := latencies(t)
	var remedies []Remedy
	for _, f := range limitFields {
		if now := *f.field(t.Workload.Inference); now != nil {
			remedies = append(remedies, laterLimit(t, families, f, *now, times)...)
		}
	}
	if len(remedies) == 0 {
		return bothLimits(t, families, times)
	}
	return remedies
}

// laterLimit returns the least value of one limit that can be kept with the other unchanged.
func laterLimit(t *shape.Problem, families []search.Family, f limitField, now int32, times []latency) []Remedy {
	var values []int32
	for _, l := range times {
		if v := f.value(l); v > now {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	values = slices.Compact(values)
	to := func(value int32) shape.Edit {
		return func(s *v1alpha1.ModelPlacementSpec) { *f.field(s.Workload.Inference) = &value }
	}
	at := sort.Search(len(values), func(i int) bool { return heldWith(t, families, to(values[i])) })
	if at == len(values) {
		return nil
	}
	return oneRemedy(KindLimit, fmt.Sprintf("%s %d instead of %d", f.name, values[at], now), to(values[at]))
}

// bothLimits raises both limits by the same factor, and then lowers each as far as the request still fits.
func bothLimits(t *shape.Problem, families []search.Family, times []latency) []Remedy {
	in := t.Workload.Inference
	if in.MaxTTFTMillis == nil || in.MaxTPOTMillis == nil {
		return nil
	}
	factor := func(l latency) float64 {
		return max(float64(l.ttft)/float64(*in.MaxTTFTMillis), float64(l.tpot)/float64(*in.MaxTPOTMillis))
	}
	slices.SortFunc(times, func(a, b latency) int {
		return cmp.Or(cmp.Compare(factor(a), factor(b)), cmp.Compare(a.ttft, b.ttft), cmp.Compare(a.tpot, b.tpot))
	})
	// limits[i] is what all candidates up to i keep.
	limits := make([]latency, len(times))
	most := latency{*in.MaxTTFTMillis, *in.MaxTPOTMillis}
	for i, l := range times {
		most = latency{max(most.ttft, l.ttft), max(most.tpot, l.tpot)}
		limits[i] = most
	}
	to := func(l latency) shape.Edit {
		return func(s *v1alpha1.ModelPlacementSpec) {
			s.Workload.Inference.MaxTTFTMillis, s.Workload.Inference.MaxTPOTMillis = &l.ttft, &l.tpot
		}
	}
	at := sort.Search(len(limits), func(i int) bool { return heldWith(t, families, to(limits[i])) })
	if at == len(limits) {
		return nil
	}
	best := limits[at]
	for _, l := range times[:at+1] {
		if l.ttft+l.tpot < best.ttft+best.tpot && heldWith(t, families, to(latency{max(l.ttft, *in.MaxTTFTMillis), max(l.tpot, *in.MaxTPOTMillis)})) {
			best = latency{max(l.ttft, *in.MaxTTFTMillis), max(l.tpot, *in.MaxTPOTMillis)}
		}
	}
	var changes []string
	for _, f := range limitFields {
		changes = append(changes, fmt.Sprintf("%s %d instead of %d", f.name, f.value(best), **f.field(in)))
	}
	return oneRemedy(KindLimit, strings.Join(changes, " and "), to(best))
}

// heldWith says whether the changed request fits in one of the families, which must come from a request for the same devices.
func heldWith(t *shape.Problem, families []search.Family, change shape.Edit) bool {
	other := t.With(change)
	return other != nil && search.Holding(other, families) >= 0
}

// latencies returns the times of all candidates for one copy in every format, whatever the limits, in each number of copies that may do.
func latencies(t *shape.Problem) []latency {
	seen := map[latency]bool{}
	var found []latency
	for p := range search.InNumbers(t.With(shape.WithoutLimits)) {
		one := t.Alone()
		if t.Open {
			one = t.With(t.InCopies(p.Copies)).Alone()
		}
		for _, s := range one.Decisive() {
			a := one.Tier(s)
			for _, c := range a.Candidates(a.Levels[len(a.Levels)-1]) {
				if l := (latency{upToMillis(c.Times.TTFT), upToMillis(c.Times.TPOT)}); c.Judged && !seen[l] {
					seen[l] = true
					found = append(found, l)
				}
			}
		}
	}
	return found
}

// upToMillis rounds seconds up to milliseconds that the API takes.
func upToMillis(seconds float64) int32 {
	return int32(min(max(1, math.Ceil(seconds*1e3)), math.MaxInt32))
}
