package remedy

import (
	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/plan/search"
	"github.com/rankwright/rankwright/pkg/shape"
)

// Kinds of suggestions, from what costs a user least to what costs most.
const (
	// KindDegrees: other degrees of parallelism than those that are asked for. The result is the same.
	KindDegrees = "Degrees"
	// KindEngine: another engine, where the one that is asked for does not run on the devices.
	KindEngine = "Engine"
	// KindServing: the server does not do everything that is asked for beside. It may be slower, or lack what requests need.
	KindServing = "Serving"
	// KindTopology: a copy may be further apart than required. It may be slower.
	KindTopology = "Topology"
	// KindCheckpointing: activations are computed again. A step takes about a third longer.
	KindCheckpointing = "Checkpointing"
	// KindBatch: smaller micro-batches. A step may take longer.
	KindBatch = "Batch"
	// KindPrecision: a narrower KV cache, or narrower weights. Quality may suffer.
	KindPrecision = "Precision"
	// KindLimit: a limit of time that can be kept.
	KindLimit = "Limit"
	// KindSequences: fewer sequences at once. The others wait.
	KindSequences = "Sequences"
	// KindContext: shorter sequences. Longer ones are refused.
	KindContext = "Context"
	// KindCopies: fewer copies, or another number of copies that share a load.
	KindCopies = "Copies"
	// KindMove: other placements go or move.
	KindMove = "Move"
	// KindDevices: further devices.
	KindDevices = "Devices"
)

// Remedy is a change of the request or of the cluster that was shown to make the request fit.
type Remedy struct {
	Kind, Change string
	// Edit is the change of the request; nil where the cluster is to change.
	Edit shape.Edit
	// Cluster is the cluster in which the request fits; nil where the request is to change.
	Cluster *fleet.Cluster
	// More is set where devices are to be added.
	More *extension
}

// Find finds the smallest change of each kind that makes the request fit, each planned before it is told, in the order
// of the kinds. Kinds that do not help alone are left out.
func Find(t *shape.Problem) []Remedy {
	families := search.Families(t)
	var found []Remedy
	for _, find := range []func(*shape.Problem, []search.Family) []Remedy{
		otherDegrees, otherEngine, lessServing, widerTopology, checkpointing, smallerBatch, narrowerCache, narrowerWeights, laterLimits,
		fewerSequences, shorterContext, fewerRanks, otherCopies, moves, moreDevices,
	} {
		if t.Stopped() {
			break
		}
		found = append(found, find(t, families)...)
	}
	return found[:min(len(found), MaxSuggestions)]
}

// MaxSuggestions is the API's bound of Shortfall.Suggestions, and MaxChange of Suggestion.Change in bytes.
const (
	MaxSuggestions = 16
	MaxChange      = 512
)

// Suggestions converts remedies for a placement of a spec into suggestions of the API.
func Suggestions(spec *v1alpha1.ModelPlacementSpec, remedies []Remedy) ([]v1alpha1.Suggestion, error) {
	var list []v1alpha1.Suggestion
	for i := range remedies {
		edits, err := editsOf(spec, remedies[i].Edit)
		if err != nil {
			return nil, err
		}
		list = append(list, v1alpha1.Suggestion{Kind: remedies[i].Kind, Change: words.Shorten(remedies[i].Change, MaxChange), Edits: edits})
	}
	return list, nil
}

// fitsWith says whether the changed request fits.
func fitsWith(t *shape.Problem, change shape.Edit) bool {
	other := t.With(change)
	return other != nil && search.Fits(other)
}

// oneRemedy returns a list with one remedy.
func oneRemedy(kind, change string, apply shape.Edit) []Remedy {
	return []Remedy{{Kind: kind, Change: change, Edit: apply}}
}
