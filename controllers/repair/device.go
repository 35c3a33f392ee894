package repair

import (
	"cmp"
	"fmt"
	"time"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// device returns what is to be said of a device; no state means nothing.
func (d *decider) device(id v1alpha1.DeviceID) v1alpha1.Repair {
	before, seen := d.known(id), d.Status.Device(id)
	if d.Record != nil && d.Record.Device == id {
		return d.repaired(before)
	}
	if id == d.undone && before.State == v1alpha1.Repairing {
		before.Attempts--
	}
	ill := seen != nil && seen.Health.State == v1alpha1.Unhealthy
	if ill && before.State == "" || ill && before.State == v1alpha1.RepairReturned {
		before.Fault = cmp.Or(seen.Health.Reason, string(v1alpha1.Unhealthy))
		return d.waiting(before)
	}
	switch before.State {
	case v1alpha1.RepairReturned:
		if d.over(before.Since.Time, memory) {
			return v1alpha1.Repair{}
		}
		return before
	case v1alpha1.RepairChecking:
		if ill {
			return d.waiting(before)
		}
		return d.checked(before)
	}
	_, well := d.well(id, before.Since)
	switch {
	case seen == nil:
		return v1alpha1.Repair{} // an agent lists what it does not see any more as long as that may come back
	case well:
		return d.checked(d.to(before, v1alpha1.RepairChecking, ""))
	default:
		return d.waiting(before)
	}
}

// waiting is a device that is not repaired, or not yet.
func (d *decider) waiting(before v1alpha1.Repair) v1alpha1.Repair {
	if before.State == v1alpha1.Repairing {
		before.State = "" // its record is gone
	}
	if d.Ranked[before.Device] || d.Silent && before.State != v1alpha1.RepairVacated {
		return d.to(before, v1alpha1.RepairCordoned, "Ranks of a plan are on it, or are not known to have left.")
	}
	if before.Attempts >= d.settings.MaxAttempts {
		return d.to(before, v1alpha1.RepairFailed, fmt.Sprintf("It is not well after %d repairs, and no more are tried: it needs a person.", before.Attempts))
	}
	return d.to(before, v1alpha1.RepairVacated, before.Message)
}

// repaired is the device of the record.
func (d *decider) repaired(before v1alpha1.Repair) v1alpha1.Repair {
	before.Device, before.Fault, before.Attempts = d.Record.Device, d.Record.Fault, d.Record.Attempt
	if d.Record.Ended == nil {
		return d.to(before, v1alpha1.Repairing, fmt.Sprintf("Repair %d of %d: %s %s.", d.Record.Attempt, d.settings.MaxAttempts, d.Record.Kind, d.Record.Object))
	}
	before = d.to(before, v1alpha1.RepairChecking, "The repair ended; it is to look well for a while.")
	before.Since = *d.Record.Ended
	since, well := d.well(before.Device, before.Since)
	switch {
	case well && d.over(since, seconds(d.settings.CheckSeconds)):
		d.Record = nil
		return d.to(before, v1alpha1.RepairReturned, fmt.Sprintf("It came back after repair %d.", before.Attempts))
	case d.over(before.Since.Time, seconds(d.settings.CheckTimeoutSeconds)):
		d.Record = nil
		return d.waiting(before)
	default:
		return before
	}
}

// checked is a device that looks well, or is not known to be ill, and whose repair is over.
func (d *decider) checked(before v1alpha1.Repair) v1alpha1.Repair {
	before.Message = "It looks well, or is not known to be ill; it is to look well for a while."
	since, well := d.well(before.Device, before.Since)
	if !well || !d.over(since, seconds(d.settings.CheckSeconds)) {
		return before
	}
	if before.Attempts == 0 {
		return v1alpha1.Repair{}
	}
	return d.to(before, v1alpha1.RepairReturned, "It came back by itself.")
}

// followObject brings the record up to what is seen of its object, and asks for the object where it is missing.
func (d *decider) followObject() {
	r := d.Record
	if r.Ended != nil {
		if d.Status == nil && d.over(r.Ended.Time, seconds(d.settings.CheckTimeoutSeconds)) {
			d.Record = nil // the node did not come back
		}
		return
	}
	if r.Made == "" && d.Object.UID != "" {
		r.Made = d.Object.UID
	}
	switch {
	case r.Made == "" && (d.Status == nil || !d.settings.Repairs() || d.danger(r.Device) != ""):
		d.Record, d.undone = nil, r.Device // nothing was done yet, and it may not be done now
	case r.Made == "":
		d.decision.Step = Make
	case d.Object.UID != r.Made, d.Object.Ended:
		ended := d.stamp()
		r.Ended = &ended
	case d.over(r.Began.Time, seconds(d.settings.TimeoutSeconds)):
		d.decision.Step = Delete
	}
}

// danger says why the object of a device's repair may not be made; empty where it may.
func (d *decider) danger(id v1alpha1.DeviceID) string {
	device, ranks, pods := d.Status.Device(id), d.Ranked[id], d.Held[id]
	if d.settings.Scope == ScopeNode {
		ranks, pods = len(d.Ranked) > 0, 0
		for _, held := range d.Held {
			pods += held
		}
	}
	switch {
	case device == nil || device.Health.State != v1alpha1.Unhealthy:
		return "It is not known to be ill."
	case d.Silent:
		return "Who holds devices is not known: the node's agent is silent, or cannot ask the kubelet."
	case ranks:
		return "Ranks of a plan are on what the repair takes."
	case pods > 0:
		return fmt.Sprintf("It waits for pods to end that hold what the repair takes: %d.", pods)
	case d.Actor != "":
		return fmt.Sprintf("Another actor works on the node: %s.", d.Actor)
	default:
		return ""
	}
}

// obstacle says what keeps the repair of a device from beginning; empty where nothing does.
func (d *decider) obstacle(r *v1alpha1.Repair) string {
	wait := seconds(d.settings.AfterSeconds)
	if r.Attempts > 0 {
		wait = max(wait, pause<<min(r.Attempts-1, mostDoublings))
	}
	danger := d.danger(r.Device)
	switch {
	case !d.settings.Repairs():
		return "Repairs are not configured; it takes work again when it looks well."
	case danger != "":
		return danger
	case d.Record != nil:
		return fmt.Sprintf("It waits for the repair of device %s of the node.", d.Record.Device)
	case !d.over(r.Since.Time, wait):
		return fmt.Sprintf("A repair begins at %s if it is not well by then.", r.Since.Add(wait).UTC().Format(time.RFC3339))
	case d.Budget < 1:
		return fmt.Sprintf("It waits for other repairs: %d may be under way at once.", d.settings.MaxConcurrent)
	default:
		return ""
	}
}
