package fleet

import (
	"maps"
	"slices"
	"strings"
)

// epochs know which nodes may have more to give than they had. A value is never written to once a snapshot has it: what changes is copied.
type epochs struct {
	// current counts the states of the cluster.
	current int64
	// past has the states of each node, oldest first.
	past map[string][]worth
	// changes are the latest ones of nodes, oldest first. What was before the epoch forgotten is not known any more.
	changes   []change
	forgotten int64
	// rises has for each class of devices the latest epoch in which a node that has such became better. Nothing of it is forgotten.
	rises map[Class]int64
}

// worth is what a node has to give from an epoch on.
type worth struct {
	epoch int64
	host  *facts
	// claims are the lines of who may hold devices.
	claims string
}

// change is a node that changed in an epoch; rose says that it became better than it was just before.
type change struct {
	epoch int64
	node  string
	rose  bool
}

// mostChanges are remembered of all nodes together. A state that was forgotten counts as one that was worse.
const mostChanges = 2048

// exceeds says whether there may be more to have than in another state: anything else than less memory and more claims counts.
func (w *worth) exceeds(then *worth) bool {
	return w.host.form != then.host.form || !slices.EqualFunc(w.host.usedMiB, then.host.usedMiB, func(now, then int64) bool { return now >= then }) ||
		!within(then.claims, w.claims)
}

// next returns what is known once some nodes have changed.
func (e epochs) next(changed map[string]bool, hosts map[string]*Host, claims map[string]string) epochs {
	if len(changed) == 0 {
		return e
	}
	e.current++
	e.past = maps.Clone(e.past)
	if e.past == nil {
		e.past = map[string][]worth{}
	}
	e.changes = slices.Clone(e.changes)
	e.rises = maps.Clone(e.rises)
	if e.rises == nil {
		e.rises = map[Class]int64{}
	}
	for name := range changed {
		h := hosts[name]
		if h == nil {
			delete(e.past, name)
			continue
		}
		before := e.past[name]
		now := worth{epoch: e.current, host: h.facts(), claims: claims[name]}
		rose := len(before) == 0 || now.exceeds(&before[len(before)-1])
		e.changes = append(e.changes, change{e.current, name, rose})
		if rose {
			for _, class := range now.host.classes {
				e.rises[class] = e.current
			}
		}
		e.past[name] = append(slices.Clip(before), now)
	}
	if surplus := len(e.changes) - mostChanges; surplus > 0 {
		e.forget(surplus)
	}
	return e
}

// forget takes the oldest changes out, and of their nodes the states that ended before.
func (e *epochs) forget(count int) {
	e.forgotten = e.changes[count-1].epoch
	for _, old := range e.changes[:count] {
		states := e.past[old.node]
		keep := 0
		for keep+1 < len(states) && states[keep+1].epoch <= e.forgotten {
			keep++
		}
		if keep > 0 {
			e.past[old.node] = slices.Clone(states[keep:])
		}
	}
	e.changes = e.changes[count:]
}

// better says whether a node may have more to give now than in an epoch.
func (e *epochs) better(node string, epoch int64) bool {
	states := e.past[node]
	if len(states) == 0 {
		return false
	}
	for i := len(states) - 1; i >= 0; i-- {
		if states[i].epoch <= epoch {
			return states[len(states)-1].exceeds(&states[i])
		}
	}
	return true
}

// anyBetter says whether some node that has devices of an admitted class may have more to give now than in an epoch.
func (e *epochs) anyBetter(epoch int64, admits func(*Class) bool) bool {
	risen := map[Class]bool{}
	for class, last := range e.rises {
		if last > epoch && admits(&class) {
			risen[class] = true
		}
	}
	if len(risen) == 0 || epoch < e.forgotten {
		return len(risen) > 0
	}
	for i := len(e.changes) - 1; i >= 0 && e.changes[i].epoch > epoch; i-- {
		if c := &e.changes[i]; c.rose && e.has(c.node, risen) && e.better(c.node, epoch) {
			return true
		}
	}
	return false
}

// has says whether a node has devices of some classes.
func (e *epochs) has(node string, classes map[Class]bool) bool {
	states := e.past[node]
	return len(states) > 0 && slices.ContainsFunc(states[len(states)-1].host.classes, func(c Class) bool { return classes[c] })
}

// within says whether all lines of a text are lines of another.
func within(lines, of string) bool {
	if lines == of || lines == "" {
		return true
	}
	there := strings.Split(of, "\n")
	for line := range strings.SplitSeq(lines, "\n") {
		if _, found := slices.BinarySearch(there, line); !found {
			return false
		}
	}
	return true
}
