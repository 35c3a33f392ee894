package shape

import (
	"fmt"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/fleet"
)

// maxUnsupported bounds how many kinds of devices a refusal names.
const maxUnsupported = 3

// Unsupported returns why the engine does not run on the devices that the request allows, once for each product; nothing where it
// runs on some of them.
func (t *Problem) Unsupported() []string {
	var texts []string
	for _, c := range t.unrun() {
		refused := engine.Unsupported{Engine: t.Engine, Device: c.device, Use: t.Use, Weights: t.Ladder[0].Weights, Model: &t.Model.Architecture}
		text := fmt.Sprintf("Engine %s: %s", t.Engine.Name, refused.Why())
		if !slices.Contains(texts, text) && len(texts) < maxUnsupported {
			texts = append(texts, text)
		}
	}
	return texts
}

// OtherEngines are those that run on devices on which the engine does not, where that is why there are none.
func (t *Problem) OtherEngines() []v1alpha1.Engine {
	var names []v1alpha1.Engine
	for _, c := range t.unrun() {
		for _, name := range engine.Others(c.device, t.Use, "", &t.Model.Architecture) {
			if !slices.Contains(names, name) && name != t.Engine.Name {
				names = append(names, name)
			}
		}
	}
	return names
}

// unrun are the classes that the request allows and the engine does not run on, or not in the formats; none where it runs on others.
func (t *Problem) unrun() []*Class {
	var classes []*Class
	for i, why := range t.RefusedClasses() {
		switch {
		case t.Cluster.Listed(int32(i)) == 0:
		case why == "":
			return nil
		case byEngine(why):
			classes = append(classes, t.Classes[i])
		}
	}
	return classes
}

// byEngine says whether a refusal is the engine's, which does not run on the device or not in the format.
func byEngine(why fleet.Refusal) bool { return why == refusedEngine || why == refusedKernels }
