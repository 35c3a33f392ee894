package backend

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
	ReasonUncorrectable = "UncorrectableMemoryErrors"
	reasonOverheated    = "Overheated"
)

// Add joins the signs of another source.
func (s *Signs) Add(other Signs) {
	for reason, count := range other.Counters {
		s.Count(reason, count)
	}
	s.Suspicions = append(s.Suspicions, other.Suspicions...)
	s.NoActionNeeded = s.NoActionNeeded || other.NoActionNeeded
	s.ByEvents = s.ByEvents || other.ByEvents
}

// Count notes a counter.
func (s *Signs) Count(reason string, count int64) {
	if s.Counters == nil {
		s.Counters = map[string]int64{}
	}
	s.Counters[reason] += min(max(count, 0), MaxErrors)
}

// MaxErrors is above what any counter of errors shows that is not misread.
const MaxErrors = 1 << 40
