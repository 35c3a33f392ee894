package plan

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/plan/search"
	"github.com/rankwright/rankwright/pkg/shape"
)

func plannedModel(t *shape.Problem, s *search.Solution) v1alpha1.PlannedModel {
	m := v1alpha1.PlannedModel{
		Name: words.Shorten(t.Model.Name, 128), Parameters: max(1, t.Model.Parameters()), Architecture: *t.Model.Architecture.DeepCopy(),
	}
	from := checkpointOf(t, s)
	m.Checkpoint, m.StoredIn = words.Shorten(from.id, 128), from.storedIn
	if from.id == t.Model.Checkpoint {
		m.Revision = t.Spec.Model.Revision
	}
	for _, a := range append(from.notes, t.Model.Assumptions...) {
		m.Assumptions = append(m.Assumptions, words.Shorten(a, 512))
	}
	if in, most := t.Workload.Inference, t.Model.Architecture.MaxContext; in != nil && most > 0 && in.MaxModelLen > most {
		m.Assumptions = append(m.Assumptions,
			fmt.Sprintf("the context of %d tokens is longer than the %d that the model was made for: it needs scaled positions", in.MaxModelLen, most))
	}
	m.Assumptions = m.Assumptions[:min(len(m.Assumptions), maxAssumptions)]
	return m
}

// source is where a plan's weights come from.
type source struct {
	// id is the checkpoint's on the hub; empty where none is known.
	id string
	// storedIn is the format of the checkpoint where it is not the plan's.
	storedIn v1alpha1.Precision
	notes    []string
}

// checkpointOf returns where the weights of a solution come from: a checkpoint that has them in the plan's format, or one of which the
// engine makes them.
func checkpointOf(t *shape.Problem, s *search.Solution) source {
	weights, makes := s.Tier.Weights, t.Makes(search.FlavorOf(t, &s.Portions[0]).Class)
	supply := t.Supply(weights)
	if w := t.Workload.Training; w != nil {
		if supply == shape.Brought {
			return source{}
		}
		return from(t, weights, "")
	}
	text := shape.Origin(t.Engine, t.Model, weights, makes)
	if most := heldWhileLoading(s); most > 0 && supply == shape.Made {
		text += fmt.Sprintf(": until then they take %s of a device", words.HumanBytes(most))
	}
	if published, known := t.Model.Stored(weights); known {
		return source{published, "", notes(text)}
	}
	if supply == shape.Brought || supply == shape.Made && !makes.Has(weights) {
		return source{notes: notes(text)}
	}
	return from(t, weights, text)
}

// from is the model's own checkpoint.
func from(t *shape.Problem, weights v1alpha1.Precision, note string) source {
	s := source{id: t.Model.Checkpoint, notes: notes(note)}
	if weights != t.Model.Native {
		s.storedIn = t.Model.Native
	}
	return s
}

func notes(text string) []string {
	if text == "" {
		return nil
	}
	return []string{text}
}

// heldWhileLoading returns the most that weights take of a device before the engine has made the plan's of them.
func heldWhileLoading(s *search.Solution) int64 {
	p := &s.Portions[0]
	var most int64
	for first, i := 0, 0; i < len(p.Ends); first, i = p.Ends[i], i+1 {
		most = max(most, p.Footprint.Loading(first, p.Ends[i]))
	}
	return most
}
