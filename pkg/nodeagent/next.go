package nodeagent

import (
	"maps"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/nodeagent/dra"
	"github.com/rankwright/rankwright/pkg/nodeagent/podresources"
)

// known is what a publication takes over from earlier ones.
type known struct {
	// status is the inventory's status that was published last.
	status v1alpha1.AcceleratorInventoryStatus
	// scan numbers the scan that was merged last; 0 is none by this process.
	scan int64
	// signs are what that scan showed of the devices.
	signs map[v1alpha1.DeviceID]backend.Signs
	// memoryAt is when the published use of memory last changed; zero where it did not in the life of this process.
	memoryAt time.Time
}

// view is what the API server, the kubelet and the sources of events say at the moment of a publication.
type view struct {
	spec    v1alpha1.AcceleratorInventorySpec
	slots   []v1alpha1.Slot   // the operator's
	repairs []v1alpha1.Repair // the operator's
	node    map[string]string // the Node's labels
	kubelet seen
	faults  []deviceFault
	monitor gpuMonitor
}

// nextState is what a publication comes to.
type nextState struct {
	// known is for the publication after this one. Its status lacks what only writing and serving decide: the conditions, the
	// summary, and the services of this agent.
	known
	changes []healthChange
	// missed says that a device was not found that was there before, recheck that another detection soon may change the health
	// of a device.
	missed, recheck bool
	// due is when to publish again though nothing happens; zero is never.
	due time.Time
}

// next works out the status that follows from the one before, a detection and what others say. It changes none of its
// arguments. A detection whose scan was merged before, since its publication failed or the spec changed, is no further
// evidence: nobody is gone or recovers by it.
func next(previous known, detected detection, v view, now metav1.Time) nextState {
	again := detected.scan == previous.scan
	holds := !previous.memoryAt.IsZero() && now.Sub(previous.memoryAt) < memoryInterval
	merged := merge(previous.status, detected.status, mergeOptions{
		now: now, again: again, allocations: v.kubelet.rows, holdMemory: holds,
	})
	merged.Slots, merged.Repairs = v.slots, v.repairs
	place(&merged.Host, v.node)
	following := nextState{due: v.kubelet.next}
	following.recheck = judge(&merged, previous, detected, v, now)
	assignServices(merged.Devices, v.kubelet.owners, v.kubelet.selectors)
	following.known = known{status: merged, scan: detected.scan, signs: previous.signs, memoryAt: previous.memoryAt}
	if !again {
		following.signs = signsAfter(previous.signs, detected, merged.Devices)
	}
	if memoryChanged(&previous.status, &merged) {
		following.memoryAt = now.Time
	}
	if holds && waitsForMemory(&detected.status, &merged) {
		following.due = earliest(following.due, previous.memoryAt.Add(memoryInterval))
	}
	following.changes = healthChanges(&previous.status, &merged)
	following.missed = newlyMissed(&previous.status, &merged)
	return following
}

// signsAfter are the signs of the detected devices, and those from before of devices that are only missed.
func signsAfter(before map[v1alpha1.DeviceID]backend.Signs, detected detection, devices []v1alpha1.Device) map[v1alpha1.DeviceID]backend.Signs {
	after := maps.Clone(detected.signs)
	if after == nil {
		after = map[v1alpha1.DeviceID]backend.Signs{}
	}
	for i := range devices {
		id := devices[i].ID
		if signs, shown := before[id]; shown && detected.status.Device(id) == nil {
			after[id] = signs
		}
	}
	return after
}

// assignServices says of each device who serves it, and by which attribute a claim selects it from a DRA driver. Nothing else
// writes these two fields.
func assignServices(devices []v1alpha1.Device, owners podresources.Owners, selectors map[v1alpha1.DeviceID]v1alpha1.ClaimAttribute) {
	for i := range devices {
		d := &devices[i]
		d.Service, d.ClaimAttribute = nil, nil
		service, served := owners[d.ID]
		if !served {
			continue
		}
		d.Service = &service
		if selector, selectable := selectors[d.ID]; selectable {
			d.ClaimAttribute = &selector
		} else if service.Server == v1alpha1.ServedByRankwright && service.Resource == v1alpha1.DRADriver {
			d.ClaimAttribute = dra.Selector(d.ID)
		}
	}
}

// earliest is the first of two times, of which the zero time is none.
func earliest(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}
