package plan

import (
	"slices"
	"sort"

	"github.com/rankwright/rankwright/pkg/model"
)

// way is one of the ways in which a request may fit: equal copies in some degrees on devices of one kind, copies of
// different shapes, or pipelines over several kinds. A request fits where any of its ways holds it.
type way struct {
	step   step
	try    try
	pools  []*pool
	lane   *lane // nil where the devices are of several kinds
	degree degree
	form   form
}

// form is what a way looks for.
type form int

const (
	formEqual     form = iota // copies of one shape on one lane
	formMixed                 // pipelines over several lanes
	formDifferent             // copies of different shapes
)

// load is a request with one thing changed, as the ways look at it. Its attempts keep what ways share.
type load struct {
	task     *task
	attempts map[attemptKey]*attempt
	single   *bool // whether one copy fits
}

// attemptKey is a format and how it is tried.
type attemptKey struct {
	step step
	try  try
}

func newLoad(t *task) *load {
	return &load{task: t, attempts: map[attemptKey]*attempt{}}
}

func (l *load) attempt(w *way) *attempt {
	key := attemptKey{w.step, w.try}
	a, ok := l.attempts[key]
	if !ok {
		a = l.task.attempt(w.step, w.try)
		l.attempts[key] = a
	}
	return a
}

// ways are those of a task. Formats and batches that need more than others and can do nothing that these cannot are left
// out, unless limits are set, since times differ.
func (t *task) ways() []way {
	var equal, others []way
	layers := int(t.model.Architecture.Layers)
	for _, s := range t.lightest() {
		for _, how := range t.enough() {
			for _, pools := range t.attempt(s, how).levels {
				for _, p := range pools {
					for _, l := range t.lanesOf(p) {
						for _, d := range t.degrees(s, l, how.divided) {
							l.caps(d.group(), t.instancesOf(d), layers)
							equal = append(equal, way{step: s, try: how, lane: l, degree: d})
						}
					}
				}
				others = append(others, way{step: s, try: how, pools: pools, form: formMixed})
				if t.copies > 1 {
					others = append(others, way{step: s, try: how, pools: pools, form: formDifferent})
				}
			}
		}
	}
	return append(equal, others...)
}

// instancesOf is how many groups that share an island a stage of all copies has.
func (t *task) instancesOf(d degree) int { return t.copies * d.apart() }

// group is how many devices must share an island.
func (d *degree) group() int { return d.tensor * max(1, d.inside) }

// lanesOf are the lanes of a pool, found once.
func (t *task) lanesOf(p *pool) []*lane {
	lanes, ok := t.laned[p]
	if !ok {
		lanes = lanesOf(t.cluster, p)
		t.laned[p] = lanes
	}
	return lanes
}

// enough are the tries that need least, which are enough where nothing is timed.
func (t *task) enough() []try {
	tries := t.tries()
	if t.limited() || t.workload.Training != nil {
		return tries
	}
	return slices.DeleteFunc(tries, func(t try) bool { return !t.lean })
}

// lightest are the formats of the ladder that no other one of it beats.
func (t *task) lightest() []step {
	if t.limited() {
		return t.ladder
	}
	var steps []step
	for i, s := range t.ladder {
		beaten := false
		for j, other := range t.ladder {
			if i != j && t.beats(other, s) && (j > i || !t.beats(s, other)) {
				beaten = true
			}
		}
		if !beaten {
			steps = append(steps, s)
		}
	}
	return steps
}

// beats says whether a format needs no more than another and may be on every device and in every degree that the other may.
func (t *task) beats(s, other step) bool {
	num, den := model.BytesPer(s.cache)
	otherNum, otherDen := model.BytesPer(other.cache)
	if num*otherDen > otherNum*den || t.model.WeightBytes(s.format) > t.model.WeightBytes(other.format) {
		return false
	}
	if side := t.model.BlockSide(s.format); side > 1 && side != t.model.BlockSide(other.format) {
		return false
	}
	mine, theirs := poolRequest{format: s.format, native: s.native}, poolRequest{format: other.format, native: other.native}
	for i, c := range t.classes {
		if t.cluster.Listed(int32(i)) > 0 && theirs.suits(c.Class) && !mine.suits(c.Class) {
			return false
		}
	}
	return true
}

// fits says whether there is any plan. It finds one wherever search does, and does not weigh it against others.
func (t *task) fits() bool { return t.holding(t.ways()) >= 0 }

// holding is the first of some ways that holds the task, -1 where none does.
func (t *task) holding(ways []way) int {
	l := newLoad(t)
	return slices.IndexFunc(ways, func(w way) bool { return w.holds(l) })
}

// holds says whether a request fits in this way.
func (w *way) holds(l *load) bool {
	a := l.attempt(w)
	switch w.form {
	case formMixed:
		return slices.ContainsFunc(a.mixed(w.pools), func(c *candidate) bool { return l.placesMixed(a, c) })
	case formDifferent:
		return slices.ContainsFunc(w.pools, l.task.hasDevices) && l.holdsOne() && a.different(w.pools) != nil
	default:
		return w.holdsEqual(l, a)
	}
}

// placesMixed says whether a pipeline over several lanes can be placed.
func (l *load) placesMixed(a *attempt, c *candidate) bool {
	if !l.zonesMayHold(c) {
		return false
	}
	_, ok := a.place(c, l.task.copies)
	return ok
}

// hasDevices says whether a pool has as many devices as all copies have at least.
func (t *task) hasDevices(p *pool) bool {
	devices := 0
	for _, kind := range p.kinds {
		devices += len(kind) * len(p.parts[kind[0]].caps)
	}
	return devices >= t.instances()*max(1, t.asked.tensor)*max(1, t.asked.stages)
}

// holdsOne says whether a single copy fits.
func (l *load) holdsOne() bool {
	if l.single == nil {
		fits := l.task.copies > 1 && l.task.one().fits()
		l.single = &fits
	}
	return *l.single
}

// one is the task with a single copy. Lanes remember groups for as many copies as they were first asked for, so that it
// has lanes of its own.
func (t *task) one() *task {
	one := *t
	one.copies, one.laned = 1, map[*pool][]*lane{}
	return &one
}

// holdsEqual goes through the numbers of stages as pipelines does, to the first that can be placed.
func (w *way) holdsEqual(l *load, a *attempt) bool {
	t := a.task
	instances, layers := t.instancesOf(w.degree), int(t.model.Architecture.Layers)
	c := candidate{shape: w.degree.shape(), lane: w.lane, inside: w.degree.inside}
	caps := w.lane.caps(c.group(), instances, layers)
	first, last := 1, min(len(caps)/instances, layers)
	if n := t.asked.stages; n > 0 {
		first, last = n, min(n, last)
	}
	looked := 0
	for stages := first; stages <= last; stages++ {
		if stages = a.enough(&c, stages, last, caps); stages > last {
			return false
		}
		if stages = a.skip(&c, stages, caps[0]); stages > last || stages > maxFreeStages && looked > 0 && t.asked.stages == 0 {
			return false
		}
		if c.stages = stages; !t.possible(c.shape) {
			continue
		}
		made, possible := l.fitting(a, c, caps[:stages*instances])
		if !possible {
			continue
		}
		looked++
		if made {
			return true
		}
	}
	return false
}

// skip is the first number of stages from some on into which the layers can be cut for devices of an offer, at least.
func (a *attempt) skip(c *candidate, stages int, offer int64) int {
	if stages < 2 || a.task.workload.Training != nil {
		return stages
	}
	s := c.shape
	s.stages = stages
	return max(stages, a.footprint(c.lane.class, s).stagesOf(offer))
}

// stagesOf is how many stages of at most some bytes the layers make, each as long as it can be; above all layers where one
// alone is too large.
func (f *footprint) stagesOf(most int64) int {
	stages, first := 0, 0
	for first < f.layers {
		end := furthest(first, f.layers, func(end int) bool { return f.bytes(first, end) <= most })
		if end == first {
			return f.layers + 1
		}
		stages, first = stages+1, end
	}
	return stages
}

// fitting says whether a shape can be placed within the limits, and whether it is a candidate at all.
func (l *load) fitting(a *attempt, c candidate, caps []int64) (placed, possible bool) {
	t := a.task
	if !a.cut(&c, caps) {
		return false, false
	}
	if t.limited() {
		a.evaluate(&c)
		if c.missed != noLimit {
			return false, true
		}
	}
	// Where every group has room for every stage and may be anywhere, the number of groups was all there is to it.
	if c.ends != nil && len(c.lane.pool.zones) == 0 {
		return true, true
	}
	if !l.zonesMayHold(&c) {
		return false, true
	}
	_, placed = a.place(&c, t.copies)
	return placed, true
}

// most is the largest number from 1 to n for which a changed request fits; 0 where it fits for none. Each way must hold
// all smaller numbers where it holds a larger one. A way is looked at closely only where it holds more than those before.
func most(ways []way, n int, with func(int) *task) int {
	loads := map[int]*load{}
	at := func(n int) *load {
		l, ok := loads[n]
		if !ok {
			l = newLoad(with(n))
			loads[n] = l
		}
		return l
	}
	best := 0
	for i := range ways {
		w := &ways[i]
		holds := func(n int) bool {
			l := at(n)
			return l.task != nil && w.holds(l)
		}
		if best < n && holds(best+1) {
			found := best
			best += largest(n-best, func(m int) bool { return m == 1 || holds(found+m) })
		}
	}
	return best
}

// largest is the largest number from 1 to n at which fits holds, which must hold below wherever it holds above; 0 where it
// holds nowhere.
func largest(n int, fits func(int) bool) int {
	if n < 1 || !fits(1) {
		return 0
	}
	return 1 + sort.Search(n-1, func(i int) bool { return !fits(i + 2) })
}
