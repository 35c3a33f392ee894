package mesh

import "github.com/rankwright/rankwright/api/v1alpha1"

// Host is what is known of a node.
type Host struct {
	// Gone says that the cluster has no such node.
	Gone bool
	// Address on the network; empty where it is not known.
	Address string
	// Inventory is the status of the node's inventory; nil where it is not known.
	Inventory *v1alpha1.AcceleratorInventoryStatus
	// Annotations are the annotations of the Node.
	Annotations map[string]string
	// Levels are the node's places in the topology of the cluster, from the widest: zone, block, rack. Empty values are unknown.
	Levels []string
}

// Hosts are nodes by name.
type Hosts map[string]Host

// Device returns a device of a node; nil where it is not known.
func (h Hosts) Device(node string, id v1alpha1.DeviceID) *v1alpha1.Device {
	inventory := h[node].Inventory
	if inventory == nil {
		return nil
	}
	return inventory.Device(id)
}

// Slot returns the resource under which a device of a node is kept for one pod; empty where it is not.
func (h Hosts) Slot(node string, id v1alpha1.DeviceID) string {
	inventory := h[node].Inventory
	if inventory == nil {
		return ""
	}
	for _, slot := range inventory.Slots {
		if slot.Device == id {
			return slot.Resource
		}
	}
	return ""
}

// seat is a device of a node; where its host is not known, no more than the vendor that its id names.
func (h Hosts) seat(node string, id v1alpha1.DeviceID) Seat {
	if d := h.Device(node, id); d != nil {
		return seatOf(node, d)
	}
	return Seat{Node: node, Device: id, Hardware: Hardware{Vendor: id.Vendor()}}
}
