package cost

import (
	"math"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/model"
)

// mixer is the part of a layer that mixes tokens: attention, or a recurrence that keeps a state for each sequence.
type mixer struct {
	projections linear
	attended    [2]span // of attention
	indexed     span    // what the indexer scores to choose that
	fixed       float64 // tokens of the encoder's output that each token looks at as well
	state       float64 // bytes for a sequence, of a recurrence
	operations  float64 // for a token, of a recurrence
}

// mixerOf returns what mixes tokens in a layer whose matrices have so many weights.
func mixerOf(m *model.Model, layer int, weights model.Matrices, precisions Precisions) mixer {
	x := mixer{projections: linearOf(weights, precisions.Linear)}
	if m.Recurs(layer) {
		x.state = float64(m.LayerStateBytesPerRank(layer, 1, precisions.Cache))
		x.operations = recurrentOperations(m.Architecture.Recurrent)
	}
	if !m.Attends(layer) {
		return x
	}
	if e := m.Architecture.Encoder; e != nil {
		x.fixed = float64(e.Positions)
	}
	attended, indexed := m.Spans(layer)
	x.attended, x.indexed = [2]span{spanOf(attended[0]), spanOf(attended[1])}, spanOf(indexed)
	return x
}

// recurrentOperations counts two operations to update and two to read each value of the state; the delta rule reads the
// state once more. A convolution alone takes two for each value that it reads.
func recurrentOperations(r *v1alpha1.Recurrent) float64 {
	state := float64(r.ValueHeads) * float64(r.KeyHeadDim) * float64(r.ValueHeadDim)
	switch r.Kind {
	case v1alpha1.GatedDelta, v1alpha1.KimiDelta:
		return 6 * state
	case v1alpha1.ShortConv:
		return 2 * float64(r.ConvKernel) * state
	default:
		return 4 * state
	}
}

// expertsOf returns routed experts of so many weights each.
func expertsOf(moe *v1alpha1.MoE, weights int64, format v1alpha1.Precision) experts {
	e := experts{
		count: float64(moe.Experts), active: float64(moe.ActiveExperts), weights: float64(weights),
		bytes: bytesPer(format), width: widthOf(format),
	}
	e.missed = math.Log1p(-min(1, e.active/e.count))
	return e
}
