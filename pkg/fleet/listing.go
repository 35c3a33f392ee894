package fleet

import "github.com/rankwright/rankwright/api/v1alpha1"

// FreeDevice is a device that a plan may use.
type FreeDevice struct {
	Node   string
	Device v1alpha1.DeviceID
	// Product is the name that the driver reports.
	Product string
	// Bytes is the device's memory less what others hold.
	Bytes int64
}

// Free returns the devices that a plan may use, by node and id.
func (c *Cluster) Free() []FreeDevice {
	var free []FreeDevice
	for _, n := range c.nodes {
		for i := range n.Devices {
			if d := &n.Devices[i]; d.refusal == fit {
				free = append(free, FreeDevice{Node: n.Name, Device: d.ID, Product: c.classes[d.Class].Product, Bytes: d.FreeBytes})
			}
		}
	}
	return free
}
