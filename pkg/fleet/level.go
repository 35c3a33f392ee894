package fleet

// Level is the zones of a topology level: the values of a node label, numbered from 0 in order of the nodes.
type Level struct {
	// Zones are the numbers of the zones by the number of the node.
	Zones []int32
	// None is the zone of nodes without the label; -1 where every node has it.
	None int32
	// Count is the number of zones, None included.
	Count int
}

// Level returns the zones of a topology level, which are numbered once. Plans that run at once may all ask for it.
func (c *Cluster) Level(label string) *Level {
	if known, _ := c.levels.Load(label); known != nil {
		l, _ := known.(*Level)
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
	c.levels.Store(label, l)
	return l
}
