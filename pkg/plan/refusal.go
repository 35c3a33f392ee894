package plan

import "github.com/rankwright/rankwright/api/v1alpha1"

// Refusal is why a device may not be used, for people, as it reads after a number of devices; empty for a free device.
type Refusal string

// Why no plan may use a device.
const (
	RefusedNode      Refusal = "on nodes that take no new work"
	RefusedAmbiguous Refusal = "listed twice with one id"
	RefusedCordoned  Refusal = "cordoned"
	RefusedTaken     Refusal = "taken by other plans"
	RefusedAllocated Refusal = "held by pods"
	RefusedHealth    Refusal = "not healthy"
	RefusedCPU       Refusal = "host processors"
	RefusedMemory    Refusal = "without known memory"
)

// Why a device does not match a request.
const (
	refusedSelector  Refusal = "on nodes outside of devices.nodeSelector"
	refusedLevel     Refusal = "on nodes without the label of topology.required"
	refusedFamily    Refusal = "of another family than devices.requirement"
	refusedVendor    Refusal = "of vendors outside of devices.vendors"
	refusedProduct   Refusal = "of products outside of devices.products"
	refusedSize      Refusal = "smaller than devices.minMemoryMiB"
	refusedPrecision Refusal = "without a format of devices.precisions"
	refusedFormat    Refusal = "without native arithmetic for the weights"
)

// refusal is why no plan may use the device.
func (b *builder) refusal(n *Node, d *v1alpha1.Device, twice bool) Refusal {
	switch {
	case d.Family == v1alpha1.FamilyCPU:
		return RefusedCPU
	case twice:
		return RefusedAmbiguous
	case n.Unschedulable:
		return RefusedNode
	case b.held[d.ID] != "":
		return b.held[d.ID]
	case !d.Usable():
		return RefusedHealth
	case d.Memory == nil || d.Memory.TotalMiB <= 0:
		return RefusedMemory
	}
	return ""
}
