package plan

import (
	"fmt"

	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/plan/search"
	"github.com/rankwright/rankwright/pkg/shape"
)

// crowded says what the cache of a copy is for where it does not hold all sequences at full length, and how many are preempted.
func crowded(t *shape.Problem, s *search.Solution) []string {
	l, ok := t.Lengths()
	if !ok {
		return nil
	}
	short, preempted := false, 0.0
	for i := range s.Portions {
		p := &s.Portions[i]
		c := &shape.Candidate{Shape: p.Shape, Footprint: p.Footprint, Ends: p.Ends}
		short = s.Tier.Crowd(c, func(stage int) int64 { return search.LeastOffer(t, p, stage) }) || short
		preempted = max(preempted, c.Pressure.Preempted)
	}
	if !short {
		return nil
	}
	in := t.Workload.Inference
	text := fmt.Sprintf("the KV cache of a copy holds %s as they run, of %.0f tokens in the mean, and not all of them at %d: set capacity to FullLength for that",
		words.Counted(max(1, in.MaxSequences), "request"), l.Held().Mean, in.MaxModelLen)
	if preempted > 0 {
		text += fmt.Sprintf("; about %.2g %% of requests are preempted and computed again", preempted*100)
	}
	return []string{text}
}
