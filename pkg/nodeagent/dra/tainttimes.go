package dra

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/pkg/nodeagent/resourceapi"
)

// taintOfDevice names a taint on a node. The value is not part of it: the cause of an illness may turn out to be another.
type taintOfDevice struct{ device, key, effect string }

// taintTimes are when the taints that are there were added.
func taintTimes(there []resourceapi.Slice) map[taintOfDevice]*metav1.Time {
	times := map[taintOfDevice]*metav1.Time{}
	for i := range there {
		for _, d := range there[i].Spec.Devices {
			for _, t := range d.Taints {
				times[taintOfDevice{d.Name, t.Key, t.Effect}] = t.TimeAdded
			}
		}
	}
	return times
}

// timed has taints without a time keep the one that they had: the API server would take each write for a new taint.
func timed(devices []resourceapi.Device, times map[taintOfDevice]*metav1.Time) []resourceapi.Device {
	return withTimes(devices, func(device string, t resourceapi.Taint) *metav1.Time {
		if t.TimeAdded != nil {
			return t.TimeAdded
		}
		return times[taintOfDevice{device, t.Key, t.Effect}]
	})
}

func untimed(devices []resourceapi.Device) []resourceapi.Device {
	return withTimes(devices, func(string, resourceapi.Taint) *metav1.Time { return nil })
}

func withTimes(devices []resourceapi.Device, timeOf func(device string, t resourceapi.Taint) *metav1.Time) []resourceapi.Device {
	changed := slices.Clone(devices)
	for i := range changed {
		changed[i].Taints = slices.Clone(changed[i].Taints)
		for k := range changed[i].Taints {
			changed[i].Taints[k].TimeAdded = timeOf(changed[i].Name, changed[i].Taints[k])
		}
	}
	return changed
}
