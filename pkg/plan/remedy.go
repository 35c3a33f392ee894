package plan

import (
	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/fleet"
)

// Kinds of suggestions, from what costs a user least to what costs most.
const (
	// KindDegrees: other degrees of parallelism than those that are asked for. The result is the same.
	KindDegrees = "Degrees"
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
	// KindCopies: fewer copies.
	KindCopies = "Copies"
	// KindMove: other placements go or move.
	KindMove = "Move"
	// KindDevices: further devices.
	KindDevices = "Devices"
)

// remedy is a change of the request or of the cluster that was shown to make the request fit.
type remedy struct {
	kind, change string
	// edit is the change of the request; nil where the cluster is to change.
	edit edit
	// cluster is the cluster in which the request fits; nil where the request is to change.
	cluster *fleet.Cluster
	// more is set where devices are to be added.
	more *extension
}

// remedies finds the smallest change of each kind that makes the request fit, each planned before it is told, in the order
// of the kinds. Kinds that do not help alone are left out.
func (t *task) remedies() []remedy {
	ways := t.ways()
	var found []remedy
	for _, find := range []func(*task, []way) []remedy{
		otherDegrees, widerTopology, checkpointing, smallerBatch, narrowerCache, narrowerWeights, laterLimits,
		fewerSequences, shorterContext, fewerRanks, fewerCopies, moves, moreDevices,
	} {
		found = append(found, find(t, ways)...)
	}
	return found[:min(len(found), maxSuggestions)]
}

// maxSuggestions is the API's bound of Shortfall.Suggestions, and maxChange of Suggestion.Change in bytes.
const (
	maxSuggestions = 16
	maxChange      = 512
)

// suggestions converts remedies into suggestions of the API.
func suggestions(remedies []remedy) []v1alpha1.Suggestion {
	var list []v1alpha1.Suggestion
	for i := range remedies {
		list = append(list, v1alpha1.Suggestion{Kind: remedies[i].kind, Change: words.Shorten(remedies[i].change, maxChange)})
	}
	return list
}

// fitsWith says whether the changed request fits.
func (t *task) fitsWith(change edit) bool {
	other := t.with(change)
	return other != nil && other.fits()
}

// oneRemedy returns a list with one remedy.
func oneRemedy(kind, change string, apply edit) []remedy {
	return []remedy{{kind: kind, change: change, edit: apply}}
}
