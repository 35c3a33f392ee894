package fleet

import "github.com/rankwright/rankwright/api/v1alpha1"

// Refusal is why a device may not be used, in words that follow a number of devices ("2 held by pods"); empty for a free
// device.
type Refusal string

// Why no plan may use a device.
const (
	RefusedNode      Refusal = "on nodes that take no new work"
	RefusedRoom      Refusal = "on nodes without room for what the pods ask for"
	RefusedAmbiguous Refusal = "listed twice with one id"
	RefusedCordoned  Refusal = "cordoned"
	RefusedTaken     Refusal = "taken by other plans"
	RefusedAllocated Refusal = "held by pods"
	RefusedHealth    Refusal = "not healthy"
	RefusedCPU       Refusal = "host processors"
	RefusedMemory    Refusal = "without known memory"
)

// reason is why no plan may use a device; fit where a plan may.
type reason uint8

const (
	fit reason = iota
	refusedCPU
	refusedAmbiguous
	refusedNode
	refusedCordoned
	refusedTaken
	refusedAllocated
	refusedHealth
	refusedMemory
	refusedRoom
	reasons
)

// refusalTexts are the texts of the reasons.
var refusalTexts = [reasons]Refusal{
	refusedCPU: RefusedCPU, refusedAmbiguous: RefusedAmbiguous, refusedNode: RefusedNode, refusedCordoned: RefusedCordoned,
	refusedTaken: RefusedTaken, refusedAllocated: RefusedAllocated, refusedHealth: RefusedHealth, refusedMemory: RefusedMemory,
	refusedRoom: RefusedRoom,
}

func (r reason) text() Refusal { return refusalTexts[r] }

// refusalOf returns why no plan may use a device that may be held for a reason.
func refusalOf(n *Node, d *v1alpha1.Device, held reason) reason {
	switch {
	case d.Family == v1alpha1.FamilyCPU:
		return refusedCPU
	case n.Unschedulable:
		return refusedNode
	case held != fit:
		return held
	case !d.Usable():
		return refusedHealth
	case d.Memory == nil || d.Memory.TotalMiB <= 0:
		return refusedMemory
	}
	return fit
}
