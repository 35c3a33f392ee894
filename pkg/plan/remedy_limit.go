package plan

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
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
func laterLimits(t *task, ways []way) []remedy {
	if !t.limited() {
		return nil
	}
	times := t.latencies()
	var remedies []remedy
	for _, f := range limitFields {
		if now := *f.field(t.workload.Inference); now != nil {
			remedies = append(remedies, t.laterLimit(ways, f, *now, times)...)
		}
	}
	if len(remedies) == 0 {
		return t.bothLimits(ways, times)
	}
	return remedies
}

// laterLimit returns the least value of one limit that can be kept with the other unchanged.
func (t *task) laterLimit(ways []way, f limitField, now int32, times []latency) []remedy {
	var values []int32
	for _, l := range times {
		if v := f.value(l); v > now {
			values = append(values, v)
		}
	}
	slices.Sort(values)
	values = slices.Compact(values)
	to := func(value int32) edit {
		return func(s *v1alpha1.ModelPlacementSpec) { *f.field(s.Workload.Inference) = &value }
	}
	at := sort.Search(len(values), func(i int) bool { return t.heldWith(ways, to(values[i])) })
	if at == len(values) {
		return nil
	}
	return oneRemedy(KindLimit, fmt.Sprintf("%s %d instead of %d", f.name, values[at], now), to(values[at]))
}

// bothLimits raises both limits by the same factor, and then lowers each as far as the request still fits.
func (t *task) bothLimits(ways []way, times []latency) []remedy {
	in := t.workload.Inference
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
	to := func(l latency) edit {
		return func(s *v1alpha1.ModelPlacementSpec) {
			s.Workload.Inference.MaxTTFTMillis, s.Workload.Inference.MaxTPOTMillis = &l.ttft, &l.tpot
		}
	}
	at := sort.Search(len(limits), func(i int) bool { return t.heldWith(ways, to(limits[i])) })
	if at == len(limits) {
		return nil
	}
	best := limits[at]
	for _, l := range times[:at+1] {
		if l.ttft+l.tpot < best.ttft+best.tpot && t.heldWith(ways, to(latency{max(l.ttft, *in.MaxTTFTMillis), max(l.tpot, *in.MaxTPOTMillis)})) {
			best = latency{max(l.ttft, *in.MaxTTFTMillis), max(l.tpot, *in.MaxTPOTMillis)}
		}
	}
	var changes []string
	for _, f := range limitFields {
		changes = append(changes, fmt.Sprintf("%s %d instead of %d", f.name, f.value(best), **f.field(in)))
	}
	return oneRemedy(KindLimit, strings.Join(changes, " and "), to(best))
}

// heldWith says whether the changed request fits in one of the ways, which must come from a request for the same devices.
func (t *task) heldWith(ways []way, change edit) bool {
	other := t.with(change)
	return other != nil && other.holding(ways) >= 0
}

// latencies returns the times of all candidates for one copy in every format, whatever the limits.
func (t *task) latencies() []latency {
	one := t.one()
	seen := map[latency]bool{}
	var found []latency
	for _, s := range one.ladder {
		for _, how := range one.enough() {
			a := one.attempt(s, how)
			for _, c := range a.all(a.levels[len(a.levels)-1]) {
				if l := (latency{upToMillis(c.times.TTFT), upToMillis(c.times.TPOT)}); c.judged && !seen[l] {
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
