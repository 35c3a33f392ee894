package plan

import (
	"fmt"
	"math"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// laterLimits is the limit that can be kept where a limit is what hinders: the least time to the first token, or the least
// for each further one, with the other limit kept; both where neither alone is enough.
func (t *task) laterLimits([]way) []remedy {
	if !t.limited() {
		return nil
	}
	in := t.workload.Inference
	reached := t.reachable()
	var remedies []remedy
	for _, alone := range []struct {
		limit func(*v1alpha1.InferenceWorkload) **int32
		name  string
		mine  func(latency) int32
		other func(latency) bool
	}{
		{
			func(w *v1alpha1.InferenceWorkload) **int32 { return &w.MaxTTFTMillis }, "maxTTFTMillis",
			func(l latency) int32 { return l.ttft }, func(l latency) bool { return within(l.tpot, in.MaxTPOTMillis) },
		},
		{
			func(w *v1alpha1.InferenceWorkload) **int32 { return &w.MaxTPOTMillis }, "maxTPOTMillis",
			func(l latency) int32 { return l.tpot }, func(l latency) bool { return within(l.ttft, in.MaxTTFTMillis) },
		},
	} {
		now := *alone.limit(in)
		if now == nil {
			continue
		}
		least := int32(math.MaxInt32)
		for _, l := range reached {
			if alone.other(l) {
				least = min(least, alone.mine(l))
			}
		}
		if least == math.MaxInt32 || least <= *now {
			continue
		}
		apply := func(s *v1alpha1.ModelPlacementSpec) { *alone.limit(s.Workload.Inference) = &least }
		if t.fitsWith(apply) {
			remedies = append(remedies, remedy{kind: KindLimit, change: fmt.Sprintf("%s %d instead of %d", alone.name, least, *now), edit: apply})
		}
	}
	if len(remedies) > 0 || in.MaxTTFTMillis == nil || in.MaxTPOTMillis == nil {
		return remedies
	}
	return t.bothLimits(reached)
}

func within(millis int32, limit *int32) bool { return limit == nil || millis <= *limit }

// bothLimits raises both limits by as small a factor as can be.
func (t *task) bothLimits(reached []latency) []remedy {
	in := t.workload.Inference
	factor := func(l latency) float64 {
		return max(float64(l.ttft)/float64(*in.MaxTTFTMillis), float64(l.tpot)/float64(*in.MaxTPOTMillis))
	}
	var best *latency
	for i, l := range reached {
		if best == nil || factor(l) < factor(*best) || factor(l) == factor(*best) && l.ttft+l.tpot < best.ttft+best.tpot {
			best = &reached[i]
		}
	}
	if best == nil {
		return nil
	}
	ttft, tpot := max(best.ttft, *in.MaxTTFTMillis), max(best.tpot, *in.MaxTPOTMillis)
	apply := func(s *v1alpha1.ModelPlacementSpec) {
		s.Workload.Inference.MaxTTFTMillis, s.Workload.Inference.MaxTPOTMillis = &ttft, &tpot
	}
	if !t.fitsWith(apply) {
		return nil
	}
	var changes []string
	for _, c := range []struct {
		name     string
		to, from int32
	}{{"maxTTFTMillis", ttft, *in.MaxTTFTMillis}, {"maxTPOTMillis", tpot, *in.MaxTPOTMillis}} {
		changes = append(changes, fmt.Sprintf("%s %d instead of %d", c.name, c.to, c.from))
	}
	return oneRemedy(KindLimit, strings.Join(changes, " and "), apply)
}

// latency is what a candidate that can be placed keeps, in milliseconds, rounded up.
type latency struct{ ttft, tpot int32 }

// reachable are the times of all candidates that can be placed in any format.
func (t *task) reachable() []latency {
	var found []latency
	for _, s := range t.ladder {
		for _, lean := range t.batches() {
			a := t.attempt(s, lean)
			for _, pools := range a.levels {
				for _, c := range a.all(pools) {
					if !c.judged {
						continue
					}
					l := latency{upToMillis(c.times.TTFT), upToMillis(c.times.TPOT)}
					if !improves(l, found) {
						continue
					}
					if _, ok := a.place(c, t.copies); ok {
						found = append(found, l)
					}
				}
			}
		}
	}
	return found
}

// improves says whether no other one is at least as good in both times.
func improves(l latency, found []latency) bool {
	for _, other := range found {
		if other.ttft <= l.ttft && other.tpot <= l.tpot {
			return false
		}
	}
	return true
}

// upToMillis rounds seconds up to milliseconds that the API takes.
func upToMillis(seconds float64) int32 {
	return int32(min(math.Ceil(max(seconds, 0)*1e3), math.MaxInt32))
}
