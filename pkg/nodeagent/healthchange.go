package nodeagent

import (
	"github.com/rankwright/rankwright/api/v1alpha1"
)

// healthChange is a device whose published health changed.
type healthChange struct {
	device        v1alpha1.DeviceID
	before, after v1alpha1.DeviceHealth
}

// eventMany is the reason of an event that sums up the changes beyond what events are made for.
const eventMany = "DevicesChanged"

// healthEvents are the reasons of events by the state that a device changed to.
var healthEvents = map[v1alpha1.HealthState]string{
	v1alpha1.Unhealthy: "DeviceUnhealthy", v1alpha1.Degraded: "DeviceDegraded", v1alpha1.Unknown: "DeviceHealthUnknown",
	v1alpha1.Healthy: "DeviceRecovered",
}

// healthChanges are the differences between two published statuses that are worth an event, in order of the devices'
// ids: another state, or another reason of one that is not Healthy. A new device is one where something is wrong with it.
func healthChanges(before, after *v1alpha1.AcceleratorInventoryStatus) []healthChange {
	var changes []healthChange
	for i := range after.Devices {
		d := &after.Devices[i]
		change := healthChange{device: d.ID, before: v1alpha1.DeviceHealth{State: v1alpha1.Healthy}, after: d.Health}
		old := before.Device(d.ID)
		if old != nil {
			change.before = old.Health
		}
		unmonitored := d.Health.Reason == v1alpha1.ReasonNotMonitored
		same := change.before.State == d.Health.State && (d.Health.State == v1alpha1.Healthy || change.before.Reason == d.Health.Reason)
		if same || old == nil && unmonitored {
			continue
		}
		changes = append(changes, change)
	}
	return changes
}
