package fleet

import (
	"maps"
	"sync"
)

// Level is the zones of a topology level: the values of a node label, numbered from 0 in order of the nodes.
type Level struct {
	// Zones are the numbers of the zones by the number of the node.
	Zones []int32
	// None is the zone of nodes without the label; -1 where every node has it.
	None int32
	// Count is the number of zones, None included.
	Count int
}

// levels caches the topology levels that were asked for; plans that run at once may all use it.
type levels struct {
	mu    sync.Mutex
	known map[string]*Level
}

// Level returns the zones of a topology level, which are numbered once.
func (c *Cluster) Level(label string) *Level {
	c.levels.mu.Lock()
	defer c.levels.mu.Unlock()
	if l, ok := c.levels.known[label]; ok {
		return l
	}
	l := &Level{Zones: make([]int32, len(c.nodes)), None: -1}
	numbers := map[string]int32{}
	for i, n := range c.nodes {
		value := n.Labels[label]
		at, ok := numbers[value]
		if !ok {
			at = int32(len(numbers))
			numbers[value] = at
		}
		l.Zones[i] = at
		if value == "" {
			l.None = at
		}
	}
	l.Count = len(numbers)
	if c.levels.known == nil {
		c.levels.known = map[string]*Level{}
	}
	c.levels.known[label] = l
	return l
}

// changed forgets the levels in which a node changed its zone.
func (l *levels) changed(before, after map[string]string) {
	maps.DeleteFunc(l.known, func(label string, _ *Level) bool { return before[label] != after[label] })
}

func (l *levels) forget() { l.known = nil }

func (l *levels) copyFrom(other *levels) {
	other.mu.Lock()
	defer other.mu.Unlock()
	l.known = maps.Clone(other.known)
}
