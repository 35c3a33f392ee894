package ledger

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Keys of the ConfigMap. An operator that does not know the format would take the record for an empty one and replace it: a
// ValidatingAdmissionPolicy refuses writes that do not say this format.
const (
	formatKey = "format"
	format    = "2"
	recordKey = "record"
)

// mostBytes is the length of the record beyond which nothing more is committed, a quarter of what a ConfigMap takes. It has room for
// more than a thousand commits.
const mostBytes = 256 << 10

// record is the plans that were committed and that no writer has seen in force yet.
type record struct {
	// Sequence counts the writes, for people who watch the ledger.
	Sequence int64 `json:"sequence"`
	// Pending has at most one commit for each placement, in the order in which they were made.
	Pending []entry `json:"pending,omitempty"`
	// Revisions are the numbers of the last plans that were committed, for at most mostRevisions placements, the latest last: plans that
	// are gone leave no other trace of their number.
	Revisions []numbered `json:"revisions,omitempty"`
}

// mostRevisions is for how many placements the last revision is kept, 70 bytes each.
const mostRevisions = 1024

// numbered is the revision of the last plan that was committed for a placement.
type numbered struct {
	Placement string `json:"placement"`
	Revision  int64  `json:"revision"`
}

// noted returns revisions with that of a plan that is committed.
func noted(revisions []numbered, plan *v1alpha1.ShardingPlan) []numbered {
	of := plan.Spec.Placement.UID
	next := slices.DeleteFunc(slices.Clone(revisions), func(n numbered) bool { return n.Placement == of })
	next = append(next, numbered{of, plan.Spec.Revision})
	return next[max(0, len(next)-mostRevisions):]
}

// entry is a commit: a plan that becomes active when those that it replaces are gone.
type entry struct {
	Plan     planRef   `json:"plan"`
	Replaces []planRef `json:"replaces,omitempty"`
}

type planRef struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid"`
}

func refTo(plan *v1alpha1.ShardingPlan) planRef {
	return planRef{Namespace: plan.Namespace, Name: plan.Name, UID: plan.UID}
}

func entryOf(plan *v1alpha1.ShardingPlan, replaces []v1alpha1.ShardingPlan) entry {
	e := entry{Plan: refTo(plan)}
	for i := range replaces {
		e.Replaces = append(e.Replaces, refTo(&replaces[i]))
	}
	return e
}

func (r record) encode() map[string]string {
	// A struct of strings and integers always encodes.
	text, _ := json.Marshal(r)
	return map[string]string{formatKey: format, recordKey: string(text)}
}

// decode takes a record that cannot be read, or is of another format, for an empty one: losing the record is safe, because a plan that it
// named and that is not active yet is then removed like any other that was never committed.
func decode(data map[string]string) record {
	var r record
	if data[formatKey] != format || json.Unmarshal([]byte(data[recordKey]), &r) != nil {
		return record{}
	}
	return r
}
