package health

import "strings"

// Evidence is a set of observations, each of which proves that earlier faults of some kind are over.
type Evidence uint8

// The observations.
const (
	// NoActionNeeded: the driver answers for the device and asks for no recovery.
	NoActionNeeded Evidence = 1 << iota
	// CountersAnew: the driver's counters of errors are lower than before, as after a reset or a load of the driver.
	CountersAnew
	// Rebooted: the host booted after the fault.
	Rebooted
	// Returned: the device or its driver was seen to be gone, or the device to be lost.
	Returned
)

var evidenceWords = []struct {
	evidence Evidence
	words    string
}{
	{NoActionNeeded, "the driver asks for no recovery"},
	{CountersAnew, "its counters of errors begin anew"},
	{Rebooted, "the node boots"},
	{Returned, "its driver is loaded anew or the device comes back"},
}

// String lists the observations.
func (e Evidence) String() string {
	var words []string
	for _, w := range evidenceWords {
		if e&w.evidence != 0 {
			words = append(words, w.words)
		}
	}
	return strings.Join(words, ", or ")
}
