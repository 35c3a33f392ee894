package shape

import (
	"cmp"
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/memory"
	"github.com/rankwright/rankwright/pkg/model"
)

// Supply is where an engine gets weights in a format from.
type Supply int

const (
	// Brought weights are of a checkpoint that is not known.
	Brought Supply = iota
	// Stored weights are in a known checkpoint, in their format or in another one that is not quantized, like their own.
	Stored
	// Made weights are what the engine makes of others in 16 bits while it loads them, on devices where it can.
	Made
)

// Origin says where an engine that serves gets weights of a model in a format from on devices where it makes some formats itself; empty
// where it is the model's own checkpoint, as that stores them or in another format that is not quantized.
func Origin(e *engine.Engine, m *model.Model, weights v1alpha1.Precision, makes engine.Formats) string {
	published, known := m.Stored(weights)
	switch from := supplyOf(e, m, weights); {
	case weights == m.Native:
		return ""
	case known:
		return fmt.Sprintf("weights in %s are those of %s; %s has them in %s", weights, published, m.Name, m.Native)
	case from == Stored:
		return ""
	case from == Made && makes.Has(weights) && e.Memory.LoadsWhole:
		return fmt.Sprintf("%s makes weights in %s of those in %s once all are loaded", e.Name, weights, m.Native)
	case from == Made && makes.Has(weights):
		return fmt.Sprintf("%s makes weights in %s of those in %s while it loads them, layer by layer", e.Name, weights, m.Native)
	default:
		return fmt.Sprintf("no checkpoint of %s in %s is known, and %s makes none of another: start it with one of your own", m.Name, weights, e.Name)
	}
}

// supplyOf returns where an engine that serves gets weights of a model in a format from.
func supplyOf(e *engine.Engine, m *model.Model, weights v1alpha1.Precision) Supply {
	_, known := m.Stored(weights)
	switch {
	case memory.Made(e, m, weights):
		return Made
	case known || e.Loads(cmp.Or(m.Native, v1alpha1.BF16), weights):
		return Stored
	default:
		return Brought
	}
}

// Supply returns where weights in a format come from. Training makes the formats of its method itself.
func (t *Problem) Supply(weights v1alpha1.Precision) Supply {
	if w := t.Workload.Training; w != nil && len(memory.BaseFormats(w.Method)) > 0 {
		return Stored
	}
	return supplyOf(t.Engine, t.Model, weights)
}

// Makes returns the formats of weights that the engine makes of those in 16 bits while it loads them on devices of a class.
func (t *Problem) Makes(class int32) engine.Formats { return t.Require.makes[class] }

// MakesSomewhere says whether there is a device on which the engine makes a format of weights of those in 16 bits.
func (t *Problem) MakesSomewhere(weights v1alpha1.Precision) bool {
	for i := range t.Classes {
		if t.Makes(int32(i)).Has(weights) && t.Cluster.Listed(int32(i)) > 0 {
			return true
		}
	}
	return false
}
