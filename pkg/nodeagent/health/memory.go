package health

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect"
)

// Memory holds what the detections before showed of devices. It is lost with the process: counters then begin from what
// they are, and suspicions are confirmed later.
type Memory struct {
	devices map[v1alpha1.DeviceID]remembered
}

type remembered struct {
	counters map[string]int64
	// suspected are the reasons of the last detection's suspicions.
	suspected map[string]bool
}

// growing are the states of devices whose counters grew, by the counters' reasons, the worst first.
var growing = []struct {
	reason string
	state  v1alpha1.HealthState
}{
	{detect.ReasonPCIFatalErrors, v1alpha1.Unhealthy},
	{detect.ReasonUncorrectable, v1alpha1.Degraded},
	{detect.ReasonPCINonFatalErrors, v1alpha1.Degraded},
}

// See joins what a detection saw of a device with what it showed before: counters that grew and what is suspected for the
// second time make it worse, counters that begin anew are evidence. suspects says that something is suspected for the
// first time.
func (m *Memory) See(id v1alpha1.DeviceID, seen v1alpha1.DeviceHealth, signs detect.Signs) (judged v1alpha1.DeviceHealth, evidence Evidence, suspects bool) {
	before := m.devices[id]
	now := remembered{counters: signs.Counters, suspected: map[string]bool{}}
	judged = seen
	take := func(worse v1alpha1.DeviceHealth) {
		if rank(worse) > rank(judged) {
			judged = worse
		}
	}
	for _, g := range growing {
		count, counts := signs.Counters[g.reason]
		last, counted := before.counters[g.reason]
		switch {
		case !counts || !counted:
		case count > last:
			take(v1alpha1.DeviceHealth{
				State: g.state, Reason: g.reason, Message: fmt.Sprintf("%d errors of this kind since the detection before, %d in all", count-last, count),
			})
		case count < last:
			evidence |= CountersAnew
		}
	}
	for _, suspicion := range signs.Suspicions {
		now.suspected[suspicion.Reason] = true
		if before.suspected[suspicion.Reason] {
			take(suspicion)
		} else {
			suspects = true
		}
	}
	if signs.NoActionNeeded {
		evidence |= NoActionNeeded
	}
	if m.devices == nil {
		m.devices = map[v1alpha1.DeviceID]remembered{}
	}
	m.devices[id] = now
	return judged, evidence, suspects
}

// Keep forgets all devices but these.
func (m *Memory) Keep(ids map[v1alpha1.DeviceID]bool) {
	for id := range m.devices {
		if !ids[id] {
			delete(m.devices, id)
		}
	}
}
