package shape

import "github.com/rankwright/rankwright/api/v1alpha1"

// MaxCopies is the API's bound of ModelPlacementSpec.Replicas.
const MaxCopies = 1024

// share gives each copy its part of a load of the whole placement, rounded up. Where nobody says how many copies share it, their
// number is open, and the part is that of the least; data ranks of a dense model that are more than MaxCopies say enough.
func (t *Problem) share() {
	if t.Sequences() == 0 {
		return
	}
	own := *t.Workload.Inference
	own.MaxSequences = int32(t.Share(t.Copies))
	t.Workload.Inference, t.Open = &own, t.Spec.Replicas == nil && t.Copies <= MaxCopies
}

// Sequences returns how many sequences the whole placement is to hold at once; 0 where only the load of a copy is given.
func (t *Problem) Sequences() int {
	if in := t.Workload.Inference; in != nil {
		return int(in.TotalSequences)
	}
	return 0
}

// Share returns how many of the placement's sequences each of so many copies holds.
func (t *Problem) Share(copies int) int { return (t.Sequences() + copies - 1) / copies }

// Spread returns the problem in as many copies as may be where their number is open, so that each has as little to hold as it may.
func (t *Problem) Spread() *Problem {
	if !t.Open {
		return t
	}
	return t.With(t.InCopies(max(1, min(MaxCopies, t.Sequences())/t.Copies) * t.Copies))
}

// Alone returns the problem of one of the copies, with its part of the load.
func (t *Problem) Alone() *Problem {
	return t.With(func(s *v1alpha1.ModelPlacementSpec) {
		t.InCopies(1)(s)
		if in := s.Workload.Inference; in != nil {
			in.MaxSequences, in.TotalSequences = t.Workload.Inference.MaxSequences, 0
		}
	})
}
