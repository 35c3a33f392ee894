package ledger

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

const recordKey = "record"

// record is the last commit.
type record struct {
	// Sequence counts the writes, for people who watch the ledger.
	Sequence int64 `json:"sequence"`
	// Plan was committed and must be active before anything else is committed.
	Plan *planRef `json:"plan,omitempty"`
	// Replaces must be gone before Plan becomes active.
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

func (r record) encode() string {
	// A struct of strings and integers always encodes.
	text, _ := json.Marshal(r)
	return string(text)
}

// decode takes a record that cannot be read for an empty one: losing the record is safe, because a plan that it named and
// that is not active yet is then removed like any other that was never committed.
func decode(text string) record {
	var r record
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		return record{}
	}
	return r
}
