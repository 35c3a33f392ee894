package fleet

import "slices"

// counts is how many devices there are, so that nobody has to walk them.
type counts struct {
	refused [reasons]int
	// free and listed are by class: free counts the devices that a plan may use, listed all that have memory and are no
	// host processors.
	free, listed []int
	// tainted is the number of nodes with taints.
	tainted int
}

func (c *counts) grow(classes int) {
	for len(c.free) < classes {
		c.free, c.listed = append(c.free, 0), append(c.listed, 0)
	}
}

func (c *counts) clone() counts {
	other := *c
	other.free, other.listed = slices.Clone(c.free), slices.Clone(c.listed)
	return other
}

// add adds a node's devices to the counts, or subtracts them where sign is -1.
func (c *counts) add(n *NodeEntry, sign int) {
	if len(n.Taints) > 0 {
		c.tainted += sign
	}
	for i := range n.Devices {
		d := &n.Devices[i]
		if d.refusal == fit {
			c.free[d.Class] += sign
		} else {
			c.refused[d.refusal] += sign
		}
		if d.refusal != refusedCPU && d.refusal != refusedMemory {
			c.listed[d.Class] += sign
		}
	}
}

// RefusedCounts returns the numbers of devices that no plan may use, by reason.
func (c *Cluster) RefusedCounts() map[Refusal]int {
	refused := map[Refusal]int{}
	for why, n := range c.counts.refused {
		if n > 0 {
			refused[reason(why).text()] = n
		}
	}
	return refused
}

// Tainted says whether a node has taints that pods must tolerate.
func (c *Cluster) Tainted() bool { return c.counts.tainted > 0 }

// FreeCounts returns the numbers of free devices by the number of their class; the caller may change the list.
func (c *Cluster) FreeCounts() []int { return slices.Clone(c.counts.free) }

// Listed returns how many devices of a class could ever hold work, free or not. Whoever goes through all classes must
// leave out those without any, or the answer would depend on what the cluster had before.
func (c *Cluster) Listed(class int32) int { return c.counts.listed[class] }
