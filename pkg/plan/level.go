package plan

import (
	"maps"
	"sync"
)

// level is the zones of a topology level: the values of a node label, numbered in order of the nodes.
type level struct {
	zones []int32 // by node
	none  int32   // the zone of nodes without the label; -1 where every node has it
	count int
}

// levels remembers the topology levels that were asked for. Plans that run at once may all ask.
type levels struct {
	mu    sync.Mutex
	known map[string]*level
}

// level numbers the zones of a topology level, once.
func (c *Cluster) level(label string) *level {
	c.levels.mu.Lock()
	defer c.levels.mu.Unlock()
	if l, ok := c.levels.known[label]; ok {
		return l
	}
	l := &level{zones: make([]int32, len(c.nodes)), none: -1}
	numbers := map[string]int32{}
	for i, n := range c.nodes {
		value := n.labels[label]
		at, ok := numbers[value]
		if !ok {
			at = int32(len(numbers))
			numbers[value] = at
		}
		l.zones[i] = at
		if value == "" {
			l.none = at
		}
	}
	l.count = len(numbers)
	if c.levels.known == nil {
		c.levels.known = map[string]*level{}
	}
	c.levels.known[label] = l
	return l
}

// changed forgets the levels in which a node changed its zone.
func (l *levels) changed(before, after map[string]string) {
	maps.DeleteFunc(l.known, func(label string, _ *level) bool { return before[label] != after[label] })
}

func (l *levels) forget() { l.known = nil }

func (l *levels) copyFrom(other *levels) {
	other.mu.Lock()
	defer other.mu.Unlock()
	l.known = maps.Clone(other.known)
}
