package repair

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
)

// begin begins the repair of the first device that waits and that nothing keeps from it, and has the others say what they wait for. A device
// is repaired only once its inventory says that its ranks have left.
func (d *decider) begin() {
	for i := range d.decision.Repairs {
		r := &d.decision.Repairs[i]
		if r.State != v1alpha1.RepairVacated {
			continue
		}
		r.Message = d.obstacle(r)
		if r.Message != "" || d.known(r.Device).State != v1alpha1.RepairVacated {
			continue
		}
		attempt, began := r.Attempts+1, d.stamp()
		d.Record = &Record{
			Device: r.Device, Fault: r.Fault, Attempt: attempt, Began: began,
			APIVersion: d.settings.template.kind.GetAPIVersion(), Kind: d.settings.template.kind.GetKind(),
			Object: "rankwright-" + words.Digest(fmt.Sprint(d.Node, " ", r.Device, " ", attempt, " ", began.Unix()), digits),
		}
		*r = d.repaired(*r)
		d.wake(d.now)
	}
}

// digits of the names of objects, enough for the repairs of a cluster's life.
const digits = 16

// siblings are the other devices of a node that a repair takes as a whole: they take no new work meanwhile, or it would never be vacated.
func (d *decider) siblings() []v1alpha1.Repair {
	if d.settings.Scope != ScopeNode || !d.settings.Repairs() || d.Status == nil {
		return nil
	}
	underway, own := d.Record != nil, map[v1alpha1.DeviceID]bool{}
	for i := range d.decision.Repairs {
		r := &d.decision.Repairs[i]
		underway = underway || r.State == v1alpha1.RepairCordoned || r.State == v1alpha1.RepairVacated
		own[r.Device] = true
	}
	var taken []v1alpha1.Repair
	for i := range d.Status.Devices {
		id := d.Status.Devices[i].ID
		if !underway || own[id] {
			continue
		}
		before := v1alpha1.Repair{Device: id}
		if known := d.Status.Repair(id); known != nil && known.Fault == "" {
			before = *known
		}
		taken = append(taken, d.to(before, v1alpha1.RepairCordoned, "The repair of another device takes the whole node."))
	}
	return taken
}
