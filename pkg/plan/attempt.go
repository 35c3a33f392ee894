package plan

import (
	"cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/memory"
)

// attempt is the search in one format, tried in one way.
type attempt struct {
	task *task
	step step
	try
	below   int                // candidates of so many devices and more are not looked at; 0 looks at all
	levels  [][]*pool          // pools by topology level, to be tried in order
	limits  []limits           // by class, that of several first; zero where it was not asked for
	last    lastPrint          // the footprint that was asked for last
	degrees map[*lane][]degree // by lane, as far as asked for
	*figures
}

func (t *task) attempt(s step, way try) *attempt {
	a := &attempt{task: t, step: s, try: way, limits: make([]limits, len(t.cluster.classes)+1), degrees: map[*lane][]degree{}, figures: t.subject.figures(t.loadKey(s))}
	if t.prefer != "" {
		a.levels = append(a.levels, t.collect(s, t.prefer).pools)
	}
	a.levels = append(a.levels, t.collect(s, t.require.level).pools)
	return a
}

// leanly is the attempt with lean batches, for less than some devices.
func (a *attempt) leanly(below int) *attempt {
	lean := *a
	lean.lean, lean.below, lean.limits, lean.last = true, below, make([]limits, len(a.limits)), lastPrint{}
	return &lean
}

// choices are the degrees on a lane.
func (a *attempt) choices(l *lane) []degree {
	found, known := a.degrees[l]
	if !known {
		found = a.task.degrees(a.step, l, a.divided)
		a.degrees[l] = found
	}
	return found
}

// footprint is the memory of a shape on devices of a class, -1 for devices of several; nil where the model does not divide so.
func (a *attempt) footprint(class int32, s shape) *footprint {
	if a.task.workload.Training == nil {
		s.stages = min(s.stages, 2)
	}
	s.context, s.decode = max(1, s.context), max(1, s.decode)
	if a.last.class != class || a.last.shape != s {
		found := recall(a.figures, a.prints, a.printKey(class, s), func() *footprint { return a.newFootprint(class, s) })
		a.last = lastPrint{class, s, found}
	}
	return a.last.prints
}

// lastPrint is a footprint with what was asked for. Most searches ask for the same one several times in a row.
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
	f := &footprint{Footprint: counted, need: counted.Need, least: counted.Least(), layers: counted.Layers()}
	if a.task.workload.Inference != nil {
		f.read = counted.Reads
	}
	return f
}

// printKey is that of a shape on a class. A device decides only about an engine's default batches, under SGLang's rule
// about what is beside its static part too, and whether its memory is known.
func (a *attempt) printKey(class int32, s shape) printKey {
	key := printKey{shape: s, limits: a.batches(class)}
	if d := a.task.smallest(class); a.task.engine == v1alpha1.EngineSGLang || d.TotalBytes <= 0 {
		key.device = d
	}
	return key
}

// inDefaultBatches is the footprint of a shape in the engine's default batches if it is known and the attempt's are lean.
func (a *attempt) inDefaultBatches(class int32, s shape) *footprint {
	if !a.lean {
		return nil
	}
	key := a.printKey(class, s)
	key.limits = a.task.limitsOn(class, false)
	return a.counted(key)
}

// batches are the limits of a step on devices of a class.
func (a *attempt) batches(class int32) limits {
	if a.task.workload.Inference == nil {
		return limits{}
	}
	l := &a.limits[class+1]
	if l.sequences == 0 {
		*l = a.task.limitsOn(class, a.lean)
	}
	return *l
}

func (t *task) limitsOn(class int32, lean bool) limits {
	return limitsOn(t.engine, t.smallest(class), int64(max(1, t.workload.Inference.MaxSequences)), lean)
}

// count counts the memory of a shape, from what is known of a like one where there is such.
func (a *attempt) count(class int32, s shape) (*memory.Footprint, error) {
	t := a.task
	if single := s; s.stages > 1 && t.workload.Inference != nil {
		single.stages = 1
		if known := a.counted(a.printKey(class, single)); known != nil {
			return known.InPipeline(s.stages)
		}
	}
	setup := memory.Setup{
		Model: a.of.model, Engine: t.engine, Weights: a.step.format, KV: a.step.cache,
		Layout: memory.Layout{Tensor: s.tensor, Pipeline: s.stages, Expert: s.expert, Context: s.context, DecodeContext: s.decode},
	}
	if in := t.workload.Inference; in != nil {
		l := a.batches(class)
		if t.engine == v1alpha1.EngineSGLang {
			// Its chunk is that of all data ranks (ServerArgs._handle_data_parallelism).
			l.tokens = max(1, l.tokens/int64(s.data))
		}
		if known := a.inDefaultBatches(class, s); known != nil {
			return known.InBatches(l.tokens, l.sequences)
		}
		setup.Layout.AttentionData = s.data
		setup.Inference = &memory.Inference{
			MaxModelLen: int64(in.MaxModelLen), Sequences: int64(max(1, in.MaxSequences)), BatchedTokens: l.tokens, BatchedSequences: l.sequences,
		}
	} else {
		setup.Layout.Data, setup.Training = s.data, &a.load.training
	}
	return memory.New(setup, t.smallest(class))
}

// smallest is the device of a class, or of several the one with the least memory.
func (t *task) smallest(class int32) memory.Device {
	if class >= 0 {
		return t.cluster.classes[class].facts.memory
	}
	var least memory.Device
	for i := range t.cluster.classes {
		c := &t.cluster.classes[i]
		if !t.cluster.has(int32(i)) || c.total <= 0 || t.require.refuseClass(c) != "" {
			continue
		}
		if d := c.facts.memory; least.TotalBytes == 0 || cmp.Or(
			cmp.Compare(d.TotalBytes, least.TotalBytes), cmp.Compare(d.Vendor, least.Vendor), cmp.Compare(d.Product, least.Product)) < 0 {
			least = d
		}
	}
	return least
}

// estimator has the constants of an architecture.
func (a *attempt) estimator(architecture string) *cost.Estimator {
	return recall(a.figures, a.tuned, architecture, func() *cost.Estimator {
		return a.task.calibration.Estimator(cost.Family{Architecture: architecture, Engine: cost.Engine(a.task.engine), Class: a.profile().Class()})
	})
}

// offer is what a device of a class with some free bytes has for the layers.
func (t *task) offer(class int32, free int64) int64 {
	d := t.cluster.classes[class].facts.memory
	d.OthersBytes = max(0, d.TotalBytes-free)
	return memory.Offer(t.engine, t.workload.Training != nil, 0, d)
}

// computed is the precision that a class computes weights of a format in: the format where it can, else 16 bits.
func computed(c *class, format v1alpha1.Precision) v1alpha1.Precision {
	switch {
	case c.computes(format):
		return format
	case c.computes(v1alpha1.BF16) || !c.known():
		return v1alpha1.BF16
	default:
		return v1alpha1.FP16
	}
}
