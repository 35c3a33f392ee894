package plan

import (
	"maps"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/engine"
	"github.com/rankwright/rankwright/pkg/model"
)

// layout says which devices hold which layers.
type layout struct {
	ends      []int       // the layer after each stage
	instances [][][]int32 // devices by instance, stage and tensor rank, which goes on through the context ranks
}

// portion is copies of one shape with their devices.
type portion struct {
	shape
	layout
	prints *footprint
	outcome
}

// copies is how many copies the portion has.
func (p *portion) copies() int { return len(p.instances) / p.data }

// solution is what was found: all copies, most of them in the first portion's shape.
type solution struct {
	attempt  *attempt
	portions []portion
	rejected []v1alpha1.RejectedPlan
}

// pooled is the pools of one set of suitable devices.
type pooled struct {
	pools  []*pool
	census census
}

// collect is pools, once for each set of devices that suits.
func (t *task) collect(s step, level string) pooled {
	r := poolRequest{requirements: t.require, format: s.format, native: s.native, capacity: t.offer, level: level, any: t.asked.tensor > 0, keep: t.keep}
	key := t.suited(&r) + level
	p, ok := t.pooled[key]
	if !ok {
		p.pools, p.census = poolsOf(t.cluster, &r)
		t.pooled[key] = p
	}
	return p
}

// suited marks the classes that suit a format.
func (t *task) suited(r *poolRequest) string {
	var key strings.Builder
	for i := range t.classes {
		if t.cluster.Listed(int32(i)) == 0 {
			continue
		}
		mark := byte('-')
		if r.suits(t.cluster.Class(int32(i))) {
			mark = '+'
		}
		key.WriteByte(mark)
	}
	return key.String()
}

// sameAs says whether a step has no chance where another one had none: as many bytes, for the same devices.
func (t *task) sameAs(s, other step) bool {
	same := func(a, b v1alpha1.Precision) bool {
		num, den := model.BytesPer(a)
		otherNum, otherDen := model.BytesPer(b)
		return num*otherDen == den*otherNum
	}
	return same(s.format, other.format) && same(s.cache, other.cache) &&
		t.suited(&poolRequest{format: s.format, native: s.native}) == t.suited(&poolRequest{format: other.format, native: other.native})
}

// try is how a format is tried: with the engine's default batches or lean ones, and with ranks that share out the tokens of
// sequences or without.
type try struct{ lean, divided bool }

// tries are those of the task, from what costs least on. Training has no lean batches.
func (t *task) tries() []try {
	tries := []try{{}, {divided: true}}
	if t.workload.Training == nil {
		tries = append(tries, try{lean: true}, try{lean: true, divided: true})
	}
	if t.divides() {
		return tries
	}
	return slices.DeleteFunc(tries, func(t try) bool { return t.divided })
}

// divides says whether ranks that share out the tokens of sequences may be chosen.
func (t *task) divides() bool {
	if t.workload.Training != nil {
		return t.engine.Parallelism.Context != nil && t.asked.context == 0
	}
	return t.engine.Parallelism.DecodeContext && t.latent()
}

// search tries formats from the widest on, each with the engine's default batches and then with lean ones, and returns the
// best solution in the first that has any; without one, what was tried.
func (t *task) search() (*solution, []v1alpha1.RejectedPlan) {
	var log rejections
	for i, s := range t.ladder {
		if i > 0 && t.sameAs(s, t.ladder[i-1]) {
			continue
		}
		for _, try := range t.tries() {
			if found := t.attempt(s, try).solve(&log); found != nil {
				return found, nil
			}
		}
	}
	return nil, log.list()
}

// solve finds the best solution of the attempt: all copies in one shape on one kind of device; else copies of different
// shapes; else pipelines over several kinds. The preferred topology level comes before what is required.
func (a *attempt) solve(log *rejections) *solution {
	for _, pools := range a.levels {
		candidates := a.all(pools)
		if c, l := a.best(candidates); c != nil {
			if lean := a.leaner(pools, c.total()); len(lean) > 0 {
				candidates = append(candidates, lean...)
				c, l = a.best(candidates)
			}
			return c.attempt.solved(log, []portion{a.portion(c, l)}, candidates, c)
		}
		if portions := a.different(pools); portions != nil {
			return a.solved(log, portions, candidates, nil)
		}
		for _, c := range a.mixed(pools) {
			if l, ok := a.place(c, a.task.copies); ok {
				return a.solved(log, []portion{a.portion(c, l)}, candidates, c)
			}
		}
		log.missed(a, candidates)
	}
	log.tooLarge(a)
	return nil
}

// best is the first candidate in the order of the objective that can be placed, with its place; nil where none can.
func (a *attempt) best(candidates []*candidate) (*candidate, layout) {
	ranked := ranking{a.task, keeping(candidates)}
	for c := ranked.next(); c != nil; c = ranked.next() {
		if l, ok := c.attempt.place(c, a.task.copies); ok {
			return c, l
		}
	}
	return nil, layout{}
}

// leaner are the candidates that lean batches allow on fewer devices than some: what an engine's defaults take for the
// largest batches need not cost a device.
func (a *attempt) leaner(pools []*pool, devices int) []*candidate {
	if a.lean || devices < 2 || a.task.workload.Training != nil {
		return nil
	}
	return a.leanly(devices).all(pools)
}

// all are the candidates on all lanes of the pools.
func (a *attempt) all(pools []*pool) []*candidate {
	var found []*candidate
	for _, p := range pools {
		for _, l := range a.task.lanesOf(p) {
			found = a.candidates(found, l)
		}
	}
	return found
}

// keeping are the candidates that keep the limits.
func keeping(candidates []*candidate) []*candidate {
	kept := make([]*candidate, 0, len(candidates))
	for _, c := range candidates {
		if c.missed == noLimit {
			kept = append(kept, c)
		}
	}
	return kept
}

// place places so many copies of a candidate.
func (a *attempt) place(c *candidate, copies int) (layout, bool) {
	return a.placeBeside(c, copies, map[int32]bool{})
}

// placeBeside places copies beside devices that are taken already, which it adds its own to.
func (a *attempt) placeBeside(c *candidate, copies int, taken map[int32]bool) (layout, bool) {
	w := &placer{task: a.task, pool: c.lane.pool, prints: c.prints, shape: c.placed(), copies: copies, taken: taken, before: slices.Collect(maps.Keys(taken))}
	if c.ends != nil {
		w.fix(c.ends)
		w.told = a.task.engine.Stages.Cuts != engine.CutAnywhere
	}
	if c.lane.class < 0 {
		w.seconds = a.seconds(c)
	}
	l, ok := w.place()
	if ok {
		l.instances = regroup(l.instances, w.shape.data, c.stage())
	}
	return l, ok
}

// regroup divides the devices of each stage of a copy, which are in so many groups, into those of its data ranks, of so
// many devices each.
func regroup(groups [][][]int32, apart, stage int) [][][]int32 {
	if len(groups[0][0]) == stage {
		return groups
	}
	var instances [][][]int32
	for copied := range slices.Chunk(groups, apart) {
		all := make([][]int32, len(copied[0]))
		for _, group := range copied {
			for i, devices := range group {
				all[i] = append(all[i], devices...)
			}
		}
		for first := 0; first < len(all[0]); first += stage {
			instance := make([][]int32, len(all))
			for i, devices := range all {
				instance[i] = devices[first : first+stage]
			}
			instances = append(instances, instance)
		}
	}
	return instances
}

func (a *attempt) portion(c *candidate, l layout) portion {
	return portion{shape: c.shape, layout: l, prints: c.prints, outcome: c.outcome}
}

func (a *attempt) solved(log *rejections, portions []portion, candidates []*candidate, chosen *candidate) *solution {
	s := &solution{attempt: a, portions: portions, rejected: log.list()}
	s.rejected = append(a.alternatives(chosen, candidates), s.rejected...)
	s.rejected = s.rejected[:min(len(s.rejected), maxRejected)]
	if len(s.rejected) == 0 {
		s.rejected = nil
	}
	return s
}
