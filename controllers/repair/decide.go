package repair

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Scene is what is known of one node.
type Scene struct {
	// Node is the node's name.
	Node string
	// Status of the node's inventory; nil where there is none.
	Status *v1alpha1.AcceleratorInventoryStatus
	// Silent says that the node's agent is not heard of, or does not know who holds devices: what is known may be out of date.
	Silent bool
	// Ranked are devices on which ranks of a plan are, or pods of a placement.
	Ranked map[v1alpha1.DeviceID]bool
	// Held is the number of other pods on each device.
	Held map[v1alpha1.DeviceID]int
	// Actor is who else works on the node; empty where nobody does.
	Actor string
	// Record is the repair of the node that was begun; nil where there is none.
	Record *Record
	// Object is what became of the record's object.
	Object Object
	// Budget is how many more repairs may begin in the cluster.
	Budget int
}

// Object is what is seen of the object of a repair.
type Object struct {
	// UID is empty where there is no such object.
	UID types.UID
	// Ended says that a condition says so.
	Ended bool
}

// Step is what the repair of a node needs next. At most one of the three is to be done, and then the scene is looked at anew.
type Step string

// The steps.
const (
	// None is to be done but to keep what is decided.
	None Step = ""
	// Make makes the object of the record.
	Make Step = "Make"
	// Delete deletes it: it takes too long.
	Delete Step = "Delete"
)

// Decision is what follows from a scene.
type Decision struct {
	// Repairs are to be status.repairs of the inventory, in order of their devices.
	Repairs []v1alpha1.Repair
	// Record is to be the node's record; nil means that it is to have none. A record is written before anything else of a decision
	// that begins a repair, and removed after everything else of one that ends it.
	Record *Record
	Step   Step
	// Wake is when time alone changes the decision; zero where it does not.
	Wake time.Time
}

// pause is how long is waited after a repair that failed, which doubles with each.
const (
	pause         = 5 * time.Minute
	mostDoublings = 6
)

// memory is how long attempts are remembered of a device that is back: one that fails again within it was not mended.
const memory = 24 * time.Hour

// Decide says what the repairs of a node are to be. It computes alone.
func Decide(settings *Settings, scene *Scene, now time.Time) Decision {
	d := &decider{settings: settings, Scene: scene, now: now}
	d.Record = scene.Record
	if d.Record != nil {
		record := *d.Record
		d.Record = &record
		d.followObject()
	}
	for _, id := range d.concerned() {
		if next := d.device(id); next.State != "" {
			d.decision.Repairs = append(d.decision.Repairs, next)
		}
	}
	d.begin()
	d.decision.Repairs = append(d.decision.Repairs, d.siblings()...)
	slices.SortFunc(d.decision.Repairs, func(a, b v1alpha1.Repair) int { return cmp.Compare(a.Device, b.Device) })
	d.decision.Record = d.Record
	return d.decision
}

// decider is one decision in the making.
type decider struct {
	settings *Settings
	*Scene
	// Record is the node's record as it is to be.
	Record *Record
	// undone is a device whose record is dropped before anything was done, so that its attempt does not count.
	undone   v1alpha1.DeviceID
	now      time.Time
	decision Decision
}

func (d *decider) wake(at time.Time) {
	if d.decision.Wake.IsZero() || at.Before(d.decision.Wake) {
		d.decision.Wake = at
	}
}

// over says whether a time has passed since another, and has the scene looked at again when it has.
func (d *decider) over(since time.Time, length time.Duration) bool {
	end := since.Add(length)
	if d.now.Before(end) {
		d.wake(end)
		return false
	}
	return true
}

func (d *decider) stamp() metav1.Time { return metav1.NewTime(d.now).Rfc3339Copy() }

// concerned returns the devices that have a fault, are in repair, or were, in order.
func (d *decider) concerned() []v1alpha1.DeviceID {
	if d.Status == nil {
		return nil
	}
	var ids []v1alpha1.DeviceID
	for i := range d.Status.Devices {
		if device := &d.Status.Devices[i]; device.Health.State == v1alpha1.Unhealthy {
			ids = append(ids, device.ID)
		}
	}
	for i := range d.Status.Repairs {
		if r := &d.Status.Repairs[i]; r.Fault != "" {
			ids = append(ids, r.Device)
		}
	}
	if d.Record != nil {
		ids = append(ids, d.Record.Device)
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// known returns what was said of a device before; the zero value where that was nothing, or that another one's repair takes it.
func (d *decider) known(id v1alpha1.DeviceID) v1alpha1.Repair {
	if before := d.Status.Repair(id); before != nil && before.Fault != "" {
		return *before
	}
	return v1alpha1.Repair{Device: id}
}

// to returns what is said of a device: where the state changes, from now on.
func (d *decider) to(before v1alpha1.Repair, state v1alpha1.RepairState, message string) v1alpha1.Repair {
	if before.State != state {
		before.State, before.Since = state, d.stamp()
	}
	before.Message = message
	return before
}

// well says whether a device looks healthy, and since when.
func (d *decider) well(id v1alpha1.DeviceID, since metav1.Time) (time.Time, bool) {
	device := d.Status.Device(id)
	if device == nil || d.Silent || device.Health.State != v1alpha1.Healthy {
		return time.Time{}, false
	}
	if seen := device.Health.Since; seen != nil && seen.After(since.Time) {
		return seen.Time, true
	}
	return since.Time, true
}
