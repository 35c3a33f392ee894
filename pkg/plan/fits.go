package plan

import (
	"slices"
	"sort"
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

// load is a task and its attempts, which the ways of a request share.
type load struct {
	task     *task
	attempts map[attemptKey]*attempt
	single   *bool // whether one copy fits
}

// attemptKey names an attempt: a format and how it is tried.
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

// ways returns the ways that must be looked at to know whether a task fits. Without limits of time it leaves out formats
// and batches that need more than others and fit nowhere that these do not; under limits their times may differ.
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

// fits says whether there is any plan. It finds one wherever search does, and does not weigh it against others.
func (t *task) fits() bool { return t.holding(t.ways()) >= 0 }

// holding returns the index of the first way that holds the task; -1 where none does.
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
		return slices.ContainsFunc(w.pools, func(p *pool) bool { return l.task.hasDevices(p) }) && l.holdsOne() && a.different(w.pools) != nil
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

// holdsEqual says whether any shape in the way's degrees can be placed within the limits.
func (w *way) holdsEqual(l *load, a *attempt) bool {
	for c := range a.shapes(w.lane, w.degree, nil) {
		if l.task.limited() {
			a.evaluate(&c)
			if c.missed != noLimit {
				continue
			}
		}
		if l.hasRoom(a, &c) {
			return true
		}
	}
	return false
}

// hasRoom says whether all copies can be placed. Where every group has room for every stage and may be anywhere, the number
// of groups is all there is to it.
func (l *load) hasRoom(a *attempt, c *candidate) bool {
	if c.ends != nil && len(c.lane.pool.zones) == 0 {
		return true
	}
	if !l.zonesMayHold(c) {
		return false
	}
	_, ok := a.place(c, l.task.copies)
	return ok
}

// zonesMayHold says whether any zone may hold an instance: whether the runs of layers that its groups have room for are
// enough. It is true where there are no zones.
func (l *load) zonesMayHold(c *candidate) bool {
	p := c.lane.pool
	if len(p.zones) == 0 {
		return true
	}
	return slices.ContainsFunc(l.task.zoneForms(p), func(z zoneForm) bool { return l.zoneMayHold(c, z) })
}

func (l *load) zoneMayHold(c *candidate, z zoneForm) bool {
	p, group := c.lane.pool, c.group()
	var caps []int64
	for _, at := range z.parts {
		part := &p.parts[at]
		if part.limit < group {
			continue
		}
		for last := group - 1; last < len(part.caps); last += group {
			caps = append(caps, part.caps[last])
		}
	}
	if c.stages == 1 {
		return slices.ContainsFunc(caps, func(offer int64) bool { return c.prints.bytes(0, c.prints.layers) <= offer })
	}
	if len(caps) < c.stages {
		return false
	}
	slices.SortFunc(caps, func(a, b int64) int { return int(min(1, max(-1, b-a))) })
	return c.prints.hasRoom(caps[:c.stages])
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
