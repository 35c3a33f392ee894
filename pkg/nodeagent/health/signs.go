package health

import (
	"fmt"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/pci"
)

// growing are the states of devices whose counters grew, by the counters' reasons, the worst first.
var growing = []struct {
	reason string
	state  v1alpha1.HealthState
}{
	{pci.ReasonFatalErrors, v1alpha1.Unhealthy},
	{backend.ReasonUncorrectable, v1alpha1.Degraded},
	{pci.ReasonNonFatalErrors, v1alpha1.Degraded},
}

// See joins what a detection saw of a device with the signs of the one before, the zero value where there was none: counters that
// grew and what is suspected for the second time make it worse, counters that begin anew are evidence. suspects says that
// something is suspected for the first time.
func See(seen v1alpha1.DeviceHealth, before, signs backend.Signs) (judged v1alpha1.DeviceHealth, evidence Evidence, suspects bool) {
	judged = seen
	take := func(worse v1alpha1.DeviceHealth) {
		if rank(worse) > rank(judged) {
			judged = worse
		}
	}
	for _, g := range growing {
		count, counts := signs.Counters[g.reason]
		last, counted := before.Counters[g.reason]
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
		if slices.ContainsFunc(before.Suspicions, func(b v1alpha1.DeviceHealth) bool { return b.Reason == suspicion.Reason }) {
			take(suspicion)
		} else {
			suspects = true
		}
	}
	if signs.NoActionNeeded {
		evidence |= NoActionNeeded
	}
	return judged, evidence, suspects
}
