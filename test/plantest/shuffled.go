package plantest

import (
	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/pkg/fleet"
)

// Shuffled are the same nodes and devices in another order.
func Shuffled(t *rapid.T, nodes []fleet.Node) []fleet.Node {
	other := rapid.Permutation(nodes).Draw(t, "order of nodes")
	for i := range other {
		inventory := other[i].Inventory.DeepCopy()
		if devices := inventory.Status.Devices; len(devices) > 0 {
			inventory.Status.Devices = rapid.Permutation(devices).Draw(t, "order of devices")
		}
		other[i].Inventory = inventory
	}
	return other
}
