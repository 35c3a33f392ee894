package plan

// search tries formats from the widest on, each with the engine's default batches and then with lean ones, and returns the
// best solution in the first that has any, with what was tried before.
func (t *task) search() (*solution, *rejections) {
	log := &rejections{}
	for i, s := range t.ladder {
		if i > 0 && t.sameAs(s, t.ladder[i-1]) {
			continue
		}
		for _, try := range t.tries() {
			if found := t.attempt(s, try).solve(log); found != nil {
				return found, log
			}
		}
	}
	return nil, log
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
			return &solution{c.attempt, []portion{a.portion(c, l)}, candidates, c, log}
		}
		if portions := a.different(pools); portions != nil {
			return &solution{a, portions, candidates, nil, log}
		}
		for _, c := range a.mixed(pools) {
			if l, ok := a.place(c, a.task.copies); ok {
				return &solution{a, []portion{a.portion(c, l)}, candidates, c, log}
			}
		}
		log.missed(a, candidates)
	}
	log.tooLarge(a)
	return nil
}

// best returns the first candidate in the order of the objective that can be placed, with its layout; nil where none can.
func (a *attempt) best(candidates []*candidate) (*candidate, layout) {
	ranked := rank(a.task, keeping(candidates))
	for c := ranked.next(); c != nil; c = ranked.next() {
		if l, ok := c.attempt.place(c, a.task.copies); ok {
			return c, l
		}
	}
	return nil, layout{}
}

// leaner returns the candidates that lean batches allow on fewer devices than some: the engine's default batches should
// not cost a device.
func (a *attempt) leaner(pools []*pool, devices int) []*candidate {
	if a.lean || devices < 2 || a.task.workload.Training != nil {
		return nil
	}
	return a.leanly(devices).all(pools)
}
