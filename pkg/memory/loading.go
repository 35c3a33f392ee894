package memory

import (
	"cmp"
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/model"
)

// Made says whether an engine makes the format of a model's weights while it loads them, because no checkpoint in it is known.
func Made(e *engine.Engine, m *model.Model, weights v1alpha1.Precision) bool {
	_, stored := m.Stored(weights)
	return !stored && e.MakesWhileLoading(cmp.Or(m.Native, v1alpha1.BF16), weights)
}

// countLoading fills in what layers take before the engine has made their weights, where it loads all of them first.
func (f *Footprint) countLoading() {
	c, s := f.counter, &f.setup
	if !c.loadsWhole {
		return
	}
	w := c.weights(s)
	w.precision = s.Model.Native
	forms := make([]amounts, 0, len(c.forms))
	for _, of := range c.forms {
		forms = append(forms, amounts{inWeights: w.layer(of.layer) + w.experts(of.layer)})
	}
	f.loading = f.sum(forms, inWeights)
}

// Loading returns what a device holds of layers first to end-1 before the engine has made their weights; 0 where it makes none, or makes
// each layer's when it has read them.
func (f *Footprint) Loading(first, end int) int64 {
	if !f.counter.loadsWhole {
		return 0
	}
	return bounded(f.loading.of(first, end) + f.quick.weights[f.at(first, end)])
}

// refuseLoading says why weights do not fit a device before the engine has made them; empty where they do.
func (f *Footprint) refuseLoading(first, end int, free int64) string {
	held := f.Loading(first, end)
	if held <= free {
		return ""
	}
	return fmt.Sprintf("before the engine makes %s of them the weights take %s in %s and %s is free: use a checkpoint in %s, or more devices",
		f.setup.Weights, text(held), f.setup.Model.Native, text(free), f.setup.Weights)
}
