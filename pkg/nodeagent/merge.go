package nodeagent

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/machine"
)

// Reasons of the health of a device that nobody looked at.
const (
	reasonBackendFailed  = "BackendFailed"
	reasonBackendMissing = "BackendMissing"
	reasonNotReported    = "NotReported"
	reasonNotSeen        = "NotSeen"
)

// messageNotSeen is of a device that one detection missed.
const messageNotSeen = "the last detection did not find the device; it is removed if the next one does not either"

// mergeOptions say when a merge takes place.
type mergeOptions struct {
	// now is the time of health changes, in whole seconds; the zero time leaves health without a time.
	now metav1.Time
	// again says that the detection was merged before: it is no further evidence that a device is gone.
	again bool
	// holdMemory keeps the published use of memory by others: it changed less than memoryInterval ago.
	holdMemory bool
	// allocations replace the published ones; nil leaves the published ones in place.
	allocations *[]v1alpha1.Allocation
}

// merge joins what was published before with what was just detected. Devices that a backend listed are as it says, with
// the facts that a partial read cannot refute (see keepIdentity), memory use in steps (see publishedUse) and the time
// since when their health is what it is. Devices whose backend failed, or was not run, stay and are Unknown. Devices
// whose backend looked and did not list them are Unknown at first, with the reason NotSeen, and gone when the next
// detection that could look does not list them either; where something else is listed in their place, they are gone at
// once. Allocations are not detected and stay. The summary and the conditions are left to the caller: they depend on the
// spec and on what could be written. Neither argument is changed.
func merge(previous, detected v1alpha1.AcceleratorInventoryStatus, options mergeOptions) v1alpha1.AcceleratorInventoryStatus {
	merged := detected.DeepCopy()
	merged.Summary, merged.Conditions = v1alpha1.InventorySummary{}, nil
	merged.Allocations = slices.Clone(previous.Allocations)
	if options.allocations != nil {
		merged.Allocations = slices.Clone(*options.allocations)
	}
	m := &merging{mergeOptions: options, previous: &previous, detected: &detected, merged: merged, backends: map[string]v1alpha1.BackendStatus{}}
	for _, b := range detected.Backends {
		m.backends[b.Name] = b
	}
	m.keepHost()
	held, heldBefore := heldDevices(merged), heldDevices(&previous)
	for i := range merged.Devices {
		d := &merged.Devices[i]
		before := previous.Device(d.ID)
		d.Health = dated(d.Health, before, options.now)
		if before != nil && !sameHardware(before, d) {
			before = nil
		}
		if before != nil && m.backends[d.Backend].State == v1alpha1.BackendDegraded {
			keepIdentity(before, d)
		}
		// What was in use at a detection was its holder's, if it had one: the next detection tells of strangers.
		hold := options.holdMemory || options.again && heldBefore[d.ID]
		stepMemory(before, d, held[d.ID], hold)
	}
	merged.Devices = append(merged.Devices, m.unseen()...)
	slices.SortFunc(merged.Devices, func(a, b v1alpha1.Device) int { return cmp.Compare(a.ID, b.ID) })
	m.mergeLinks()
	return *merged
}

// merging is a merge under way.
type merging struct {
	mergeOptions
	previous, detected, merged *v1alpha1.AcceleratorInventoryStatus
	// backends are the detection's, by name.
	backends map[string]v1alpha1.BackendStatus
}

// keepHost keeps what was known of the host where it could not be read at all (a host always has a processor), and its
// ports and disks where nobody could look at them.
func (m *merging) keepHost() {
	before := m.previous.DeepCopy()
	unread := equality.Semantic.DeepEqual(m.merged.Host, v1alpha1.Host{})
	if unread {
		m.merged.Host = before.Host
	}
	if unread || m.backends[machine.Network().Name()].State == v1alpha1.BackendFailed {
		m.merged.NICs = before.NICs
	}
	if unread || m.backends[machine.Storage().Name()].State == v1alpha1.BackendFailed {
		m.merged.Storage = before.Storage
	}
}

// unseen are the devices published before that are not listed now and that are not known to be gone. A device of an
// unnamed backend has nobody who could look at it, so it is gone when it is not listed.
func (m *merging) unseen() []v1alpha1.Device {
	var kept []v1alpha1.Device
	for i := range m.previous.Devices {
		before := &m.previous.Devices[i]
		if before.Backend == "" || m.detected.Device(before.ID) != nil {
			continue
		}
		missed := before.Health.Reason == reasonNotSeen
		reason, message := m.unlooked(before.Backend)
		looked := reason == ""
		if looked && (missed && !m.again || supersedes(m.detected, before)) {
			continue
		}
		if looked || missed { // a detection that cannot look does not make up for one that missed the device
			reason, message = reasonNotSeen, messageNotSeen
		}
		d := *before.DeepCopy()
		d.Health = dated(v1alpha1.DeviceHealth{State: v1alpha1.Unknown, Reason: reason, Message: message}, before, m.now)
		kept = append(kept, d)
	}
	return kept
}

// unlooked says why a backend could not look; the reason is empty where it could.
func (m *merging) unlooked(name string) (reason, message string) {
	backend, ran := m.backends[name]
	switch {
	case !ran:
		return reasonBackendMissing, "this agent has no detection backend " + name
	case backend.State == v1alpha1.BackendFailed:
		return reasonBackendFailed, backend.Message
	default:
		return "", ""
	}
}

// newlyMissed says whether a device is missed that was not missed before.
func newlyMissed(previous, merged *v1alpha1.AcceleratorInventoryStatus) bool {
	return slices.ContainsFunc(merged.Devices, func(d v1alpha1.Device) bool {
		before := previous.Device(d.ID)
		return d.Health.Reason == reasonNotSeen && before != nil && before.Health.Reason != reasonNotSeen
	})
}

// supersedes says whether something else is listed in the place of a device: it was partitioned, or its partitions were
// joined or cut anew.
func supersedes(detected *v1alpha1.AcceleratorInventoryStatus, gone *v1alpha1.Device) bool {
	return slices.ContainsFunc(detected.Devices, func(d v1alpha1.Device) bool {
		return d.PCI != nil && gone.PCI != nil && d.PCI.Address == gone.PCI.Address || related(&d, gone)
	})
}

// related says whether one device is a part of the other, or both are of a third.
func related(a, b *v1alpha1.Device) bool {
	switch {
	case a.Partition != nil && b.Partition != nil:
		return a.Partition.Parent == b.Partition.Parent
	case a.Partition != nil:
		return a.Partition.Parent == b.ID
	case b.Partition != nil:
		return b.Partition.Parent == a.ID
	}
	return false
}

// dated completes a health with the time since when its state holds. A device that reports no state is Unknown, never
// Healthy.
func dated(health v1alpha1.DeviceHealth, before *v1alpha1.Device, now metav1.Time) v1alpha1.DeviceHealth {
	if health.State == "" {
		health.State, health.Reason = v1alpha1.Unknown, reasonNotReported
	}
	if before != nil && before.Health.State == health.State && before.Health.Since != nil {
		health.Since = before.Health.Since.DeepCopy()
	} else if !now.IsZero() {
		health.Since = now.DeepCopy()
	}
	return health
}
