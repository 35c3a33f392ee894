package plan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/model"
)

// shape is the degrees of one instance.
type shape struct{ tensor, stages int }

func (s shape) devices() int { return s.tensor * s.stages }

// layout says which devices hold which layers.
type layout struct {
	ends      []int       // the layer after each stage
	instances [][][]int32 // devices by instance, stage and tensor rank
}

// solution is a layout with what it was made for.
type solution struct {
	shape
	layout
	format   v1alpha1.Precision
	prints   *footprint
	rejected []v1alpha1.RejectedPlan
}

// pooled is the pools of one set of suitable devices.
type pooled struct {
	pools  []*pool
	census census
}

// collect is pools, once for each set of devices that suits.
func (t *task) collect(s step, level string) pooled {
	r := poolRequest{requirements: t.require, format: s.format, native: s.native, capacity: t.capacity, level: level, any: t.asked.tensor > 0, keep: t.keep}
	key := t.suited(&r) + level
	p, ok := t.pooled[key]
	if !ok {
		p.pools, p.census = t.cluster.pools(&r)
		t.pooled[key] = p
	}
	return p
}

// capacity is what a plan may use of a device: what strangers leave, and no more than the engine takes of the whole.
func (t *task) capacity(class int32, free int64) int64 {
	return min(free, t.cluster.classes[class].total/1000*t.facts.permille)
}

// suited marks the classes that suit a format.
func (t *task) suited(r *poolRequest) string {
	var key strings.Builder
	for i := range t.cluster.classes {
		if !t.cluster.has(int32(i)) {
			continue
		}
		mark := byte('-')
		if r.suits(&t.cluster.classes[i]) {
			mark = '+'
		}
		key.WriteByte(mark)
	}
	return key.String()
}

// sameAs says whether a format has no chance where another one had none: as many bytes, for the same devices.
func (t *task) sameAs(s, other step) bool {
	num, den := model.BytesPer(s.format)
	otherNum, otherDen := model.BytesPer(other.format)
	return num*otherDen == den*otherNum &&
		t.suited(&poolRequest{format: s.format, native: s.native}) == t.suited(&poolRequest{format: other.format, native: other.native})
}

// load is what footprints are computed for in a format.
func (t *task) load(format v1alpha1.Precision) *load {
	return &load{model: t.model, format: format, cache: cacheFormat(t.spec.KVCacheType, format), workload: t.workload, data: t.data}
}

// search tries formats, then shapes, and returns the first solution; without one, what was tried.
func (t *task) search() (*solution, []v1alpha1.RejectedPlan) {
	var log rejections
	for i, s := range t.ladder {
		if i > 0 && t.sameAs(s, t.ladder[i-1]) {
			continue
		}
		a := t.attempt(s)
		for _, shape := range a.shapes() {
			if found, ok := a.try(shape); ok {
				return &solution{shape: shape, layout: found, format: s.format, prints: a.footprint(shape), rejected: log.list()}, nil
			}
			log.add(a, shape)
		}
	}
	return nil, log.list()
}

// attempt is the search in one format.
type attempt struct {
	task   *task
	step   step
	load   *load
	levels [][]*pool // pools by topology level, to be tried in order
	prints map[shape]*footprint
}

func (t *task) attempt(s step) *attempt {
	a := &attempt{task: t, step: s, load: t.load(s.format), prints: map[shape]*footprint{}}
	if t.prefer != "" {
		a.levels = append(a.levels, t.collect(s, t.prefer).pools)
	}
	a.levels = append(a.levels, t.collect(s, t.require.level).pools)
	return a
}

// footprint is the memory of a shape; that of inference is the same for all pipelines.
func (a *attempt) footprint(s shape) *footprint {
	key := s
	if a.load.workload.Training == nil {
		key.stages = min(s.stages, 2)
	}
	f, ok := a.prints[key]
	if !ok {
		f = footprintOf(a.load, s.tensor, s.stages)
		a.prints[key] = f
	}
	return f
}

// shapes are the candidates in order of preference: one device, tensor groups by size, pipelines by number of devices
// with the widest tensor groups first.
func (a *attempt) shapes() []shape {
	widest, most := 0, 0
	for _, p := range a.levels[len(a.levels)-1] {
		devices := 0
		for i := range p.parts {
			widest = max(widest, min(p.parts[i].limit, len(p.parts[i].devices)))
			devices += len(p.parts[i].devices)
		}
		most = max(most, devices/a.task.instances())
	}
	tensors := a.task.model.TensorDegrees(widest)
	if n := a.task.asked.tensor; n > 0 {
		tensors = []int{n}
	}
	var single, several []shape
	for _, tensor := range tensors {
		if e := a.task.asked.expert; e > 1 && !expertFits(a.task.engine, e, tensor, a.task.data) {
			continue
		}
		stages := min(most/tensor, a.load.layers())
		if n := a.task.asked.stages; n > 0 {
			if n <= stages {
				several = append(several, shape{tensor, n})
			}
			continue
		}
		if stages >= 1 {
			single = append(single, shape{tensor, 1})
		}
		for n := 2; n <= stages; n++ {
			several = append(several, shape{tensor, n})
		}
	}
	slices.SortStableFunc(several, func(x, y shape) int {
		return cmp.Or(cmp.Compare(x.devices(), y.devices()), cmp.Compare(y.tensor, x.tensor))
	})
	return append(single, several...)
}

func (l *load) layers() int { return int(l.model.Architecture.Layers) }

// try places a shape with the devices of one vendor: of several that could, the one whose devices have the least memory.
func (a *attempt) try(s shape) (layout, bool) {
	for _, pools := range a.levels {
		var best layout
		least := int64(-1)
		for _, p := range pools {
			found, ok := place(a.task, p, a.footprint(s), s)
			if !ok {
				continue
			}
			if size := a.task.cluster.memory(found); least < 0 || size < least {
				best, least = found, size
			}
		}
		if least >= 0 {
			return best, true
		}
	}
	return layout{}, false
}

// memory is the total memory of a layout's devices.
func (c *Cluster) memory(l layout) int64 {
	var total int64
	for _, instance := range l.instances {
		for _, stage := range instance {
			for _, at := range stage {
				total += c.classes[c.device(at).class].total
			}
		}
	}
	return total
}
