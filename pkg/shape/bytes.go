package shape

import (
	"cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/memory"
)

// Footprint is the memory of a shape on devices of a class, -1 for devices of several; nil where the model does not divide so.
func (a *Tier) Footprint(class int32, s Shape) *Footprint {
	s = a.alike(s)
	if a.last.class != class || a.last.Shape != s {
		found := recall(a.figures, a.batch(class, a.Lean).footprints, s, func() *Footprint { return a.newFootprint(class, s) })
		a.last = lastFootprint{class, s, found}
	}
	return a.last.footprint
}

// alike returns a shape with the same footprint, the same one for all shapes that share it. In inference the number of
// stages changes a footprint only by whether a device has peers.
func (a *Tier) alike(s Shape) Shape {
	s.Context, s.Decode = max(1, s.Context), max(1, s.Decode)
	switch {
	case a.Problem.Workload.Training != nil:
	case s.Stage()*s.Data > 1:
		s.Stages = 1
	default:
		s.Stages = min(s.Stages, 2)
	}
	return s
}

// lastFootprint is the footprint that was asked for last and its key. Most searches ask for the same one several times in a
// row.
type lastFootprint struct {
	class int32
	Shape
	footprint *Footprint
}

func (a *Tier) newFootprint(class int32, s Shape) *Footprint {
	counted, err := a.count(class, s)
	if err != nil {
		return nil
	}
	return &Footprint{
		Footprint: counted, amounts: counted, least: counted.Least(), widest: counted.Widest(), Layers: counted.Layers(),
		serves: a.Problem.Workload.Inference != nil,
	}
}

// batches holds the footprints in an engine's default batches and those in lean batches.
type batches struct{ usual, lean *batch }

// batch returns the footprints on devices of a class under the default or the lean limits of a step.
func (a *Tier) batch(class int32, lean bool) *batch {
	b := &a.known[class+1].usual
	if lean {
		b = &a.known[class+1].lean
	}
	if *b == nil {
		*b = a.figures.batch(a.batchKey(class, lean))
	}
	return *b
}

// batchKey returns the key of the footprints on devices of a class. The device is part of the key only where the engine
// takes a static part of the total, where the total is not known, and through the default limits that depend on it.
func (a *Tier) batchKey(class int32, lean bool) batchKey {
	t, d := a.Problem, a.Problem.smallest(class)
	var key batchKey
	if in := t.Workload.Inference; in != nil {
		own := LimitsOn(t.Defaults, d, t.sequencesOfEach(1), lean)
		key.Limits = Limits{cmp.Or(t.limits.Tokens, own.Tokens), cmp.Or(t.limits.Sequences, own.Sequences)}
	}
	if t.Engine.Memory.Rule == engine.StaticOfTotal || d.TotalBytes <= 0 {
		key.device = d
	}
	return key
}

// count counts the memory of a shape, starting from a known footprint of a similar shape where there is one.
func (a *Tier) count(class int32, s Shape) (*memory.Footprint, error) {
	if a.refused != nil {
		return nil, a.refused
	}
	t := a.Problem
	layout := memory.Layout{Tensor: s.Tensor, Pipeline: s.Stages, Expert: s.Expert, Context: s.Context, DecodeContext: s.Decode}
	if t.Workload.Training != nil {
		layout.Data = s.Data
		return a.counter.Footprint(layout, 0, 0, t.smallest(class))
	}
	layout.AttentionData = s.Data
	in := a.batch(class, a.Lean)
	limits := in.Limits
	if t.limits.Tokens == 0 { // else it is what each rank was asked to take
		fewest := int64(engine.FewestTokens)
		if a.Lean {
			fewest = 1
		}
		limits.Tokens = t.Engine.Memory.TokensOfEach(limits.Tokens, int64(s.Data), fewest)
	}
	if t.limits.Sequences == 0 && s.Data > 1 {
		limits.Sequences = LimitsOn(t.Defaults, t.smallest(class), t.sequencesOfEach(s.Data), a.Lean).Sequences
	}
	if a.Lean {
		if known := a.counted(a.batch(class, false), s); known != nil {
			return known.InBatches(limits.Tokens, limits.Sequences)
		}
	}
	if limits == in.Limits {
		alone := Shape{Tensor: s.Tensor, Stages: 1, Data: 1, Expert: 1, Context: s.Context, Decode: s.Decode}
		if known := a.counted(in, alone); known != nil {
			return known.InLayout(layout)
		}
	}
	return a.counter.Footprint(layout, limits.Tokens, limits.Sequences, t.smallest(class))
}

// sequencesOfEach returns the sequences of each of the data ranks of an instance, which share out what is asked of it.
func (t *Problem) sequencesOfEach(data int) int64 {
	asked := int64(max(1, t.Workload.Inference.MaxSequences))
	return (asked + int64(data) - 1) / int64(data)
}

// smallest returns the memory of a class's devices; for several classes (-1), of the class with the least.
func (t *Problem) smallest(class int32) memory.Device {
	if class >= 0 {
		return t.Classes[class].Facts.Memory
	}
	var least memory.Device
	for i, c := range t.Classes {
		if t.Cluster.Listed(int32(i)) == 0 || c.TotalBytes <= 0 || t.Require.refuseClass(c.Class) != "" {
			continue
		}
		if d := c.Facts.Memory; least.TotalBytes == 0 || cmp.Or(
			cmp.Compare(d.TotalBytes, least.TotalBytes), cmp.Compare(d.Vendor, least.Vendor), cmp.Compare(d.Product, least.Product)) < 0 {
			least = d
		}
	}
	return least
}

// rated returns the estimator and the known times of a kind of device.
func (a *Tier) rated(d *cost.Device) *rated {
	key := ratedKey{*d, a.Problem.request.Site}
	if a.device == nil || a.device.ratedKey != key {
		a.device = recall(a.figures, a.devices, key, func() *rated {
			return &rated{key, a.Problem.calibration.Estimator(a.Family(d)), map[timesKey]cost.Times{}}
		})
	}
	return a.device
}

// Family returns the family whose constants estimate the costs on a device.
func (a *Tier) Family(d *cost.Device) cost.Family {
	return cost.Family{Architecture: d.Architecture, Engine: cost.Engine(cmp.Or(a.load.serving.costs, string(a.Problem.Engine.Name))), Class: a.profile.Class()}
}

// Constants returns the constants that estimate the costs on a device.
func (a *Tier) Constants(d *cost.Device) *cost.Constants { return a.rated(d).estimator.Constants() }

// Estimator returns what estimates the costs on a device.
func (a *Tier) Estimator(d *cost.Device) *cost.Estimator { return a.rated(d).estimator }

// Memory returns the memory of a class's devices, less what the engine was seen at the site to have less of them.
func (t *Problem) Memory(class int32) memory.Device {
	d := t.Classes[class].Facts.Memory
	if t.request.Site != nil && t.Workload.Training == nil {
		d.HeldBackBytes = t.request.Site.HeldBack(cost.Engine(t.Engine.Name), d.Product)
	}
	return d
}

// Offer returns the bytes that a device of a class with so many free bytes has for the layers.
func (t *Problem) Offer(class int32, free int64) int64 {
	d := t.Memory(class)
	d.OthersBytes = max(0, d.TotalBytes-free)
	return memory.Offer(t.Engine.Name, t.Workload.Training != nil, t.served.permille, d)
}

// ComputedIn returns the precision in which a class computes weights stored in a format: the format where it can, else 16
// bits.
func ComputedIn(c *fleet.Class, format v1alpha1.Precision) v1alpha1.Precision {
	switch {
	case c.Computes(format):
		return format
	case c.Computes(v1alpha1.BF16) || !c.Known():
		return v1alpha1.BF16
	default:
		return v1alpha1.FP16
	}
}
