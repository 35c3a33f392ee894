package health

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Rules say how long a device must look well before it is so again. What is worse is believed at once.
type Rules struct {
	// Time and Detections are how long, and in how many detections in a row, a device must look well that was Unhealthy or
	// Degraded.
	Time       time.Duration
	Detections int
	// Hold is how long a device stays Unknown at least.
	Hold time.Duration
}

// DefaultRules are the rules that the agent works by.
var DefaultRules = Rules{Time: time.Minute, Detections: 3, Hold: 10 * time.Second}

// Observation is what a detection saw of a device.
type Observation struct {
	// Health is the health of the device at that moment.
	Health v1alpha1.DeviceHealth
	// Evidence is what the detection proves about earlier faults.
	Evidence Evidence
	// Booted is when the host booted; the zero time where that is not known.
	Booted time.Time
	// Again says that the same detection was observed before: nothing gets better by it.
	Again bool
}

// reasonsGone are of devices that were positively seen to be absent or without their driver: what comes back is another
// start of the device.
var reasonsGone = map[string]bool{"NotSeen": true, "DriverMissing": true, "NoDriver": true, "OtherDriver": true}

// reasonsLost are of devices that do not answer on their bus: when they answer again, they were started anew.
var reasonsLost = map[string]bool{"GPULost": true, "GPUInaccessible": true, "OffBus": true, "PCILinkDown": true, "PoweredOff": true}

// rank orders the states from the best to the worst. A device that only nothing observes can be used, one that cannot be
// read cannot.
func rank(h v1alpha1.DeviceHealth) int {
	switch {
	case h.State == v1alpha1.Healthy:
		return 0
	case h.State == v1alpha1.Unknown && h.Reason == v1alpha1.ReasonNotMonitored:
		return 1
	case h.State == v1alpha1.Degraded:
		return 2
	case h.State == v1alpha1.Unhealthy:
		return 4
	default:
		return 3
	}
}

// isFault says whether something was seen to be wrong, as against nothing being seen.
func isFault(h v1alpha1.DeviceHealth) bool {
	return h.State == v1alpha1.Unhealthy || h.State == v1alpha1.Degraded
}

// Next returns the health to publish after a detection. published is the one before, the zero value for a new device; now
// is in whole seconds.
func (r Rules) Next(published v1alpha1.DeviceHealth, seen Observation, now metav1.Time) v1alpha1.DeviceHealth {
	evidence, under := parseRecovery(published.Message)
	before := *published.DeepCopy()
	before.Message = evidence
	fault := isFault(before)
	switch {
	case published.State == "" || seen.Health.State == v1alpha1.Unknown && reasonsGone[seen.Health.Reason]:
		return dated(seen.Health, before, now)
	case fault && seen.Health.State == v1alpha1.Unknown && (before.State == v1alpha1.Unhealthy || rank(seen.Health) < rank(before)):
		return before // what cannot be seen proves nothing
	case rank(seen.Health) > rank(before):
		return dated(seen.Health, before, now)
	case rank(seen.Health) == rank(before):
		if signals[before.Reason].ClearedBy != 0 && !reasonsLost[seen.Health.Reason] {
			return before
		}
		return dated(seen.Health, before, now)
	case seen.Again:
		return published
	case fault:
		return r.recover(before, under, seen, now)
	case published.Since != nil && now.Sub(published.Since.Time) < r.Hold:
		return published
	default:
		return dated(seen.Health, before, now)
	}
}

// recover counts a detection that saw a device well, or better, which had a fault.
func (r Rules) recover(before v1alpha1.DeviceHealth, under *recovery, seen Observation, now metav1.Time) v1alpha1.DeviceHealth {
	if under == nil {
		if needed := signals[before.Reason].ClearedBy; needed != 0 && needed&proofs(before, seen) == 0 {
			return before
		}
		under = &recovery{since: now.Time}
	}
	under.detections++
	if under.detections >= r.Detections && now.Sub(under.since) >= r.Time {
		return dated(seen.Health, before, now)
	}
	before.Message = under.print(before.Message, r.Detections)
	return before
}

// proofs are the observations that the detection made, the boot of the host among them.
func proofs(before v1alpha1.DeviceHealth, seen Observation) Evidence {
	evidence := seen.Evidence
	if before.Since != nil && seen.Booted.After(before.Since.Time) {
		evidence |= Rebooted
	}
	return evidence
}

// Fault returns the health to publish after an event.
func (r Rules) Fault(published v1alpha1.DeviceHealth, signal Signal, now metav1.Time) v1alpha1.DeviceHealth {
	before := *published.DeepCopy()
	before.Message, _ = parseRecovery(published.Message) // a device that errs again does not look well
	told := signal.health()
	worse := rank(told) - rank(before)
	if published.State == "" || worse > 0 || worse == 0 && signals[before.Reason].ClearedBy == 0 {
		return dated(told, before, now)
	}
	return before
}

// Pending says whether a further detection soon can make the published health better than the one that saw the device so.
func Pending(published, seen v1alpha1.DeviceHealth) bool {
	_, under := parseRecovery(published.Message)
	waits := seen.State != v1alpha1.Unknown && rank(seen) < rank(published) && signals[published.Reason].ClearedBy == 0
	return under != nil || waits
}

// dated gives a health the time since when its state holds.
func dated(health, before v1alpha1.DeviceHealth, now metav1.Time) v1alpha1.DeviceHealth {
	health.Since = nil
	switch {
	case before.State == health.State && before.Since != nil:
		health.Since = before.Since.DeepCopy()
	case !now.IsZero():
		health.Since = now.DeepCopy()
	}
	return health
}
