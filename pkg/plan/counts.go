package plan

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
func (c *counts) add(n *node, sign int) {
	for i := range n.devices {
		d := &n.devices[i]
		if d.refusal == fit {
			c.free[d.class] += sign
		} else {
			c.refused[d.refusal] += sign
		}
		if d.counts() {
			c.listed[d.class] += sign
		}
	}
}

// counts says whether the device could ever hold work.
func (d *device) counts() bool { return d.refusal != refusedCPU && d.refusal != refusedMemory }
