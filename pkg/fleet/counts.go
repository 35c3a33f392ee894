package fleet

import "slices"

// counts is how many devices there are, so that nobody has to walk them.
type counts struct {
	refused [reasons]int
	// free and listed are by class: devices that a plan may use, and those that are no host processors and have memory.
	free, listed []int
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

// add counts a node's devices in, or out where sign is -1.
func (c *counts) add(n *NodeEntry, sign int) {
	for i := range n.Devices {
		d := &n.Devices[i]
		if d.refusal == fit {
			c.free[d.Class] += sign
		} else {
			c.refused[d.refusal] += sign
		}
		if d.counts() {
			c.listed[d.Class] += sign
		}
	}
}

// Refusals is how many devices no plan may use for a reason.
func (c *Cluster) Refusals(why Refusal) int {
	return c.counts.refused[slices.Index(refusalTexts[:], why)]
}

// RefusedCounts are the numbers of devices that no plan may use, by reason.
func (c *Cluster) RefusedCounts() map[Refusal]int {
	refused := map[Refusal]int{}
	for why, n := range c.counts.refused {
		if n > 0 {
			refused[reason(why).text()] = n
		}
	}
	return refused
}

// FreeCounts returns the numbers of free devices by the number of their class; the caller may change the list.
func (c *Cluster) FreeCounts() []int { return slices.Clone(c.counts.free) }

// Listed returns how many devices of a class could ever hold work, free or not. What looks at all classes must leave out
// those that have none, or its answer would hang on what the cluster had before.
func (c *Cluster) Listed(class int32) int { return c.counts.listed[class] }

// counts says whether the device could ever hold work.
func (d *Device) counts() bool { return d.refusal != refusedCPU && d.refusal != refusedMemory }
