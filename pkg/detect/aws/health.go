package aws

import (
	"fmt"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// health judges by the driver's counters of memory errors and by whether the chip can be opened. A driver that made a
// node for every chip made this one's, too, whichever it is.
func (c *neuronChip) health(files host.Files, chips []*neuronChip, nodes []*neuronNode) v1alpha1.DeviceHealth {
	const load = "install aws-neuronx-dkms"
	switch {
	case c.Driver != neuronDriver:
		return backend.HealthUnder(c.Driver, nil, load, neuronDriver)
	case c.node != nil:
		return c.nodeHealth(files, load)
	}
	bound := len(slices.DeleteFunc(slices.Clone(chips), func(c *neuronChip) bool { return c.Driver != neuronDriver }))
	open, counted := 0, true
	for _, node := range nodes {
		if node.path != "" {
			open++
		}
		count, ok := node.uncorrectable(files)
		counted = counted && ok
		if count > 0 {
			return backend.Unknown(backend.ReasonUncorrectable, fmt.Sprintf("neuron%d counts %d uncorrectable memory errors, and which chip that is only neuron-ls tells", node.number, count))
		}
	}
	switch {
	case open == bound && counted:
		return backend.Healthy(neuronWell)
	case open == bound:
		return backend.Opened()
	}
	return backend.Unknown(backend.ReasonNodeMissing, fmt.Sprintf("%d of %d chips have a device node: see dmesg, and mount the host's /dev where a container looks", open, bound))
}

func (c *neuronChip) nodeHealth(files host.Files, load string) v1alpha1.DeviceHealth {
	if c.node.path == "" {
		return backend.DriverHealth(c.Driver, nil, load)
	}
	switch count, ok := c.node.uncorrectable(files); {
	case !ok:
		return backend.Opened()
	case count > 0:
		return backend.Degraded(backend.ReasonUncorrectable, fmt.Sprintf("uncorrectable memory errors since the driver was loaded: %d (stats/hardware)", count))
	}
	return backend.Healthy(neuronWell)
}

const neuronWell = "the driver counts no uncorrectable memory error (stats/hardware)"
