package plan

import (
	"cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/memory"
)

// footprint is the memory of a shape on devices of a class, -1 for devices of several; nil where the model does not divide so.
func (a *attempt) footprint(class int32, s shape) *footprint {
	s = a.alike(s)
	if a.last.class != class || a.last.shape != s {
		found := recall(a.figures, a.batch(class, a.lean).prints, s, func() *footprint { return a.newFootprint(class, s) })
		a.last = lastPrint{class, s, found}
	}
	return a.last.prints
}

// alike returns a shape with the same footprint, the same one for all shapes that share it. In inference the number of
// stages changes a footprint only by whether a device has peers.
func (a *attempt) alike(s shape) shape {
	s.context, s.decode = max(1, s.context), max(1, s.decode)
	switch {
	case a.task.workload.Training != nil:
	case s.stage()*s.data > 1:
		s.stages = 1
	default:
		s.stages = min(s.stages, 2)
	}
	return s
}

// lastPrint is the footprint that was asked for last and its key. Most searches ask for the same one several times in a
// row.
type lastPrint struct {
	class int32
	shape
	prints *footprint
}

func (a *attempt) newFootprint(class int32, s shape) *footprint {
	counted, err := a.count(class, s)
	if err != nil {
		return nil
	}
	return &footprint{
		Footprint: counted, amounts: counted, least: counted.Least(), widest: counted.Widest(), layers: counted.Layers(),
		serves: a.task.workload.Inference != nil,
	}
}

// inBoth holds the footprints in an engine's default batches and those in lean batches.
type inBoth struct{ usual, lean *batch }

// batch returns the footprints on devices of a class under the default or the lean limits of a step.
func (a *attempt) batch(class int32, lean bool) *batch {
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
func (a *attempt) batchKey(class int32, lean bool) batchKey {
	t, d := a.task, a.task.smallest(class)
	var key batchKey
	if in := t.workload.Inference; in != nil {
		key.limits = limitsOn(t.engine.Name, d, int64(max(1, in.MaxSequences)), lean)
	}
	if t.engine.Memory.Rule == engine.StaticOfTotal || d.TotalBytes <= 0 {
		key.device = d
	}
	return key
}

// count counts the memory of a shape, starting from a known footprint of a similar shape where there is one.
func (a *attempt) count(class int32, s shape) (*memory.Footprint, error) {
	if a.refused != nil {
		return nil, a.refused
	}
	t := a.task
	layout := memory.Layout{Tensor: s.tensor, Pipeline: s.stages, Expert: s.expert, Context: s.context, DecodeContext: s.decode}
	if t.workload.Training != nil {
		layout.Data = s.data
		return a.counter.Footprint(layout, 0, 0, t.smallest(class))
	}
	layout.AttentionData = s.data
	in := a.batch(class, a.lean)
	limits := in.limits
	if t.engine.Memory.TokensOfAllData {
		limits.tokens = max(1, limits.tokens/int64(s.data))
	}
	if a.lean {
		if known := a.counted(a.batch(class, false), s); known != nil {
			return known.InBatches(limits.tokens, limits.sequences)
		}
	}
	if limits == in.limits {
		alone := shape{tensor: s.tensor, stages: 1, data: 1, expert: 1, context: s.context, decode: s.decode}
		if known := a.counted(in, alone); known != nil {
			return known.InLayout(layout)
		}
	}
	return a.counter.Footprint(layout, limits.tokens, limits.sequences, t.smallest(class))
}

// smallest returns the memory of a class's devices; for several classes (-1), of the class with the least.
func (t *task) smallest(class int32) memory.Device {
	if class >= 0 {
		return t.classes[class].facts.memory
	}
	var least memory.Device
	for i, c := range t.classes {
		if t.cluster.Listed(int32(i)) == 0 || c.TotalBytes <= 0 || t.require.refuseClass(c.Class) != "" {
			continue
		}
		if d := c.facts.memory; least.TotalBytes == 0 || cmp.Or(
			cmp.Compare(d.TotalBytes, least.TotalBytes), cmp.Compare(d.Vendor, least.Vendor), cmp.Compare(d.Product, least.Product)) < 0 {
			least = d
		}
	}
	return least
}

// rated returns the estimator and the known times of a kind of device.
func (a *attempt) rated(d *cost.Device) *rated {
	if a.device == nil || a.device.device != *d {
		a.device = recall(a.figures, a.devices, *d, func() *rated {
			return &rated{*d, a.task.calibration.Estimator(a.family(d)), map[timesKey]cost.Times{}}
		})
	}
	return a.device
}

// family returns the family whose constants estimate the costs on a device.
func (a *attempt) family(d *cost.Device) cost.Family {
	return cost.Family{Architecture: d.Architecture, Engine: cost.Engine(a.task.engine.Name), Class: a.profile.Class()}
}

// constants returns the constants that estimate the costs on a device.
func (a *attempt) constants(d *cost.Device) *cost.Constants { return a.rated(d).estimator.Constants() }

// offer returns the bytes that a device of a class with so many free bytes has for the layers.
func (t *task) offer(class int32, free int64) int64 {
	d := t.classes[class].facts.memory
	d.OthersBytes = max(0, d.TotalBytes-free)
	return memory.Offer(t.engine.Name, t.workload.Training != nil, 0, d)
}

// computed returns the precision in which a class computes weights stored in a format: the format where it can, else 16
// bits.
func computed(c *fleet.Class, format v1alpha1.Precision) v1alpha1.Precision {
	switch {
	case c.Computes(format):
		return format
	case c.Computes(v1alpha1.BF16) || !c.Known():
		return v1alpha1.BF16
	default:
		return v1alpha1.FP16
	}
}
