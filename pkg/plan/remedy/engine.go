package remedy

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/plan/search"
	"github.com/rankwright/rankwright/pkg/shape"
)

// otherEngine is the first engine with which the request fits, where the one that is asked for runs on none of the devices.
func otherEngine(t *shape.Problem, _ []search.Family) []Remedy {
	for _, name := range t.OtherEngines() {
		apply := func(s *v1alpha1.ModelPlacementSpec) { s.Engine = name }
		if fitsWith(t, apply) {
			return oneRemedy(KindEngine, fmt.Sprintf("engine %s instead of %s", name, t.Engine.Name), apply)
		}
	}
	return nil
}
