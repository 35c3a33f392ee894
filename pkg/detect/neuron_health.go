package detect

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// health judges by the driver's counters of memory errors and by whether the chip can be opened. A driver that made a
// node for every chip made this one's, too, whichever it is.
func (c *neuronChip) health(files Files, chips []*neuronChip, nodes []*neuronNode) v1alpha1.DeviceHealth {
	const load = "install aws-neuronx-dkms"
	switch {
	case c.Driver == "":
		return driverHealth("", nil, load)
	case c.Driver != neuronDriver:
		return v1alpha1.DeviceHealth{
			State: v1alpha1.Unknown, Reason: reasonOtherDriver,
			Message: fmt.Sprintf("the device is bound to %s, not to %s: it may be a virtual machine's", c.Driver, neuronDriver),
		}
	case c.node != nil:
		return c.nodeHealth(files, load)
	}
	bound := 0
	for _, chip := range chips {
		if chip.Driver == neuronDriver {
			bound++
		}
	}
	open := 0
	for _, node := range nodes {
		if node.path != "" {
			open++
		}
		if count := node.uncorrectable(files); count > 0 {
			return v1alpha1.DeviceHealth{
				State: v1alpha1.Unknown, Reason: "UncorrectableMemoryErrors",
				Message: fmt.Sprintf("neuron%d counts %d uncorrectable memory errors, and which chip that is only neuron-ls tells", node.number, count),
			}
		}
	}
	if open == bound {
		return v1alpha1.DeviceHealth{State: v1alpha1.Healthy}
	}
	return v1alpha1.DeviceHealth{
		State: v1alpha1.Unknown, Reason: reasonNodeMissing,
		Message: fmt.Sprintf("%d of %d chips have a device node: see dmesg, and mount the host's /dev where a container looks", open, bound),
	}
}

func (c *neuronChip) nodeHealth(files Files, load string) v1alpha1.DeviceHealth {
	if c.node.path == "" {
		return driverHealth(c.Driver, nil, load)
	}
	if count := c.node.uncorrectable(files); count > 0 {
		return v1alpha1.DeviceHealth{
			State: v1alpha1.Degraded, Reason: "UncorrectableMemoryErrors",
			Message: fmt.Sprintf("uncorrectable memory errors since the driver was loaded: %d (stats/hardware)", count),
		}
	}
	return v1alpha1.DeviceHealth{State: v1alpha1.Healthy}
}
