package dra

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/resourceapi"
	"github.com/rankwright/rankwright/pkg/nodeagent/serving"
)

// taintKeys are the keys of the taints of devices that new pods may not get.
var taintKeys = map[serving.Cause]string{
	serving.Cordoned:  v1alpha1.Prefix + "cordoned",
	serving.Unhealthy: v1alpha1.Prefix + "unhealthy",
	serving.Unknown:   v1alpha1.Prefix + "unknown",
	serving.Held:      v1alpha1.Prefix + "held",
}

// taintOf says by a taint what keeps new pods from a device. An unhealthy device alone may have its pods evicted, once its ranks have left:
// a cordon leaves them alone, and what is not observed is no reason to end them.
func taintOf(o serving.Obstacle, w serving.Wanted, d *v1alpha1.Device) resourceapi.Taint {
	t := resourceapi.Taint{Key: taintKeys[o.Cause], Effect: string(serving.NoSchedule)}
	if o.Cause == serving.Unhealthy || o.Cause == serving.Unknown {
		t.TimeAdded = d.Health.Since
		if len(validation.IsValidLabelValue(d.Health.Reason)) == 0 {
			t.Value = d.Health.Reason
		}
	}
	if effect := w.Config.Vendors[d.Vendor].UnhealthyTaint; o.Cause == serving.Unhealthy && effect != "" && ranksLeft(w.Status, d.ID) {
		t.Effect = string(effect)
	}
	return t
}

// vacated are the states in which the operator, which knows of all ranks, says that none is on a device.
var vacated = []v1alpha1.RepairState{v1alpha1.RepairVacated, v1alpha1.Repairing, v1alpha1.RepairFailed}

// ranksLeft says whether the operator has said that no rank is on a device, and no slot keeps it for one. Ranks move by a new plan, one copy at
// a time, and a taint that evicts pods would be faster.
func ranksLeft(s *v1alpha1.AcceleratorInventoryStatus, id v1alpha1.DeviceID) bool {
	repair := s.Repair(id)
	return repair != nil && slices.Contains(vacated, repair.State) &&
		!slices.ContainsFunc(s.Slots, func(slot v1alpha1.Slot) bool { return slot.Device == id })
}

// taintsOf returns a device's taints: one for each obstacle, and one that keeps it for the claim of its slot's pod.
func taintsOf(w serving.Wanted, d *v1alpha1.Device) []resourceapi.Taint {
	var taints []resourceapi.Taint
	for _, o := range w.Obstacles(d) {
		taints = append(taints, taintOf(o, w, d))
	}
	for _, slot := range w.Status.Slots {
		if slot.Device == d.ID {
			taints = append(taints, resourceapi.Taint{Key: slot.Resource, Effect: string(serving.NoSchedule)})
		}
	}
	return taints
}

// obstructed says whether a device is offered to nobody but those that tolerate what is wrong with it.
func obstructed(d resourceapi.Device) bool {
	return slices.ContainsFunc(d.Taints, func(t resourceapi.Taint) bool {
		return slices.Contains(slices.Collect(maps.Values(taintKeys)), t.Key)
	})
}

// withoutTaints returns what is offered where taints do not last: the devices that new pods may get, also those with a slot,
// without their taints.
func withoutTaints(devices []resourceapi.Device) []resourceapi.Device {
	var plain []resourceapi.Device
	for _, d := range devices {
		if !obstructed(d) {
			d.Taints = nil
			plain = append(plain, d)
		}
	}
	return plain
}

// tolerated says whether a request that has these tolerations gets a device in spite of a taint (resource.k8s.io/v1,
// DeviceToleration).
func tolerated(t resourceapi.Taint, tolerations []resourceapi.Toleration) bool {
	return slices.ContainsFunc(tolerations, func(o resourceapi.Toleration) bool {
		if o.Key != "" && o.Key != t.Key || o.Effect != "" && o.Effect != t.Effect {
			return false
		}
		switch o.Operator {
		case "", "Equal":
			return o.Key != "" && o.Value == t.Value
		default:
			return o.Operator == "Exists"
		}
	})
}
