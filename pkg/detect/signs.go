package detect

import "github.com/rankwright/rankwright/api/v1alpha1"

// Signs are what a detection sees of a device's health that means something only beside what was seen before, or what is
// told otherwise. They are no part of an inventory.
type Signs struct {
	// Counters count errors since the host booted or the driver was loaded, by the reason of the health that a growing
	// one means.
	Counters map[string]int64
	// Suspicions are what one detection alone does not prove.
	Suspicions []v1alpha1.DeviceHealth
	// NoActionNeeded says that the driver answers for the device and asks for no recovery.
	NoActionNeeded bool
	// ByEvents says that some errors of the device are told by events alone: the driver shows no trace of them later.
	ByEvents bool
}

// Reasons of health that come of signs.
const (
	ReasonPCIFatalErrors    = "PCIFatalErrors"
	ReasonPCINonFatalErrors = "PCINonFatalErrors"
	ReasonUncorrectable     = "UncorrectableMemoryErrors"
	ReasonLinkNarrow        = "PCILinkNarrow"
	ReasonOverheated        = "Overheated"
)

// Reasons of the health of a device that does not answer on its bus.
const (
	ReasonOffBus     = "OffBus"
	ReasonLinkDown   = "PCILinkDown"
	ReasonPoweredOff = "PoweredOff"
)

// add joins the signs of another source.
func (s *Signs) add(other Signs) {
	for reason, count := range other.Counters {
		s.count(reason, count)
	}
	s.Suspicions = append(s.Suspicions, other.Suspicions...)
	s.NoActionNeeded = s.NoActionNeeded || other.NoActionNeeded
	s.ByEvents = s.ByEvents || other.ByEvents
}

// count notes a counter.
func (s *Signs) count(reason string, count int64) {
	if s.Counters == nil {
		s.Counters = map[string]int64{}
	}
	s.Counters[reason] += count
}

// ReasonOpened is the reason by which a backend says that it sees no more of a Healthy device than that it can be opened.
// Detect decides by what else is seen of the device, and leaves none of that reason.
const ReasonOpened = "Opened"

// opened is the health of such a device.
func opened() v1alpha1.DeviceHealth {
	return v1alpha1.DeviceHealth{State: v1alpha1.Healthy, Reason: ReasonOpened, Message: "the device can be opened"}
}

// healthy is the health of a device of which something says that it is well.
func healthy(evidence string) v1alpha1.DeviceHealth {
	return v1alpha1.DeviceHealth{State: v1alpha1.Healthy, Message: evidence}
}
