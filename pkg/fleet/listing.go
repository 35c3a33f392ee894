package fleet

import "github.com/rankwright/rankwright/api/v1alpha1"

// RefusedDevice is a device that no plan may use, with the reason.
type RefusedDevice struct {
	Node   string
	Device v1alpha1.DeviceID
	Reason Refusal
}

// Refused lists the devices that no plan may use, by node and id.
func (c *Cluster) Refused() []RefusedDevice {
	var refused []RefusedDevice
	for _, n := range c.nodes {
		for i := range n.Devices {
			if d := &n.Devices[i]; d.refusal != fit {
				refused = append(refused, RefusedDevice{Node: n.Name, Device: d.ID, Reason: d.refusal.text()})
			}
		}
	}
	return refused
}

// FreeDevice is a device that a plan may use.
type FreeDevice struct {
	Node   string
	Device v1alpha1.DeviceID
	// Product as the driver reports it.
	Product string
	// Bytes that strangers leave.
	Bytes int64
}

// Free lists the devices that a plan may use, by node and id.
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

// Addresses returns the nodes' addresses by name, without those that have none.
func (c *Cluster) Addresses() map[string]string {
	addresses := map[string]string{}
	for _, n := range c.nodes {
		if n.Address != "" {
			addresses[n.Name] = n.Address
		}
	}
	return addresses
}
