package placement

import (
	"errors"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/plan"
)

// answers remembers why placements could not be placed, so that one change of the cluster costs each waiting placement
// one question to the planner, and not one for each placement that waits behind it. The zero value is ready.
type answers struct {
	mu   sync.Mutex
	seen map[types.NamespacedName]answer
}

// question is all that a planner's answer depends on.
type question struct {
	placement   *v1alpha1.ModelPlacement
	model       *resolved
	fingerprint string
}

type answer struct {
	uid         types.UID
	generation  int64
	model       string
	fingerprint string
	refusal     error
}

// ask returns the refusal that is remembered for a question, or computes the answer and remembers it if it is a refusal.
func (a *answers) ask(q question, compute func() (*v1alpha1.ShardingPlanSpec, error)) (*v1alpha1.ShardingPlanSpec, error) {
	key := types.NamespacedName{Namespace: q.placement.Namespace, Name: q.placement.Name}
	current := answer{uid: q.placement.UID, generation: q.placement.Generation, model: q.model.version, fingerprint: q.fingerprint}
	a.mu.Lock()
	defer a.mu.Unlock()
	known, found := a.seen[key]
	current.refusal = known.refusal
	if found && known == current {
		return nil, known.refusal
	}
	spec, err := compute()
	var unplaceable *plan.Unplaceable
	if errors.As(err, &unplaceable) {
		if a.seen == nil {
			a.seen = map[types.NamespacedName]answer{}
		}
		current.refusal = err
		a.seen[key] = current
	}
	return spec, err
}

func (a *answers) forget(key types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.seen, key)
}
