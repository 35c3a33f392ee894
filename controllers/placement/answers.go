package placement

import (
	"errors"

	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/plan"
)

// answers remembers why placements could not be placed, so that one change of the cluster costs each waiting placement
// one question to the planner, and not one for each placement that waits behind it. The zero value is ready. It is not for
// concurrent use: placements are reconciled one at a time.
type answers struct {
	seen map[types.NamespacedName]answer
}

// question is all that a planner's answer depends on.
type question struct {
	placement  types.NamespacedName
	uid        types.UID
	generation int64
	// model is the version of the object that the model is from, fingerprint of the cluster.
	model, fingerprint string
}

type answer struct {
	question
	refusal error
}

// ask returns the refusal that is remembered for a question, or computes the answer and remembers it if it is a refusal.
func (a *answers) ask(q question, compute func() (*v1alpha1.ShardingPlanSpec, error)) (*v1alpha1.ShardingPlanSpec, error) {
	if known, found := a.seen[q.placement]; found && known.question == q {
		return nil, known.refusal
	}
	spec, err := compute()
	var unplaceable *plan.Unplaceable
	if errors.As(err, &unplaceable) {
		if a.seen == nil {
			a.seen = map[types.NamespacedName]answer{}
		}
		a.seen[q.placement] = answer{q, err}
	}
	return spec, err
}

func (a *answers) forget(key types.NamespacedName) { delete(a.seen, key) }
