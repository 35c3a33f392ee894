package preference

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Connection is what two devices reach each other over.
type Connection struct {
	// A and B are the devices, A with the lesser id.
	A, B v1alpha1.DeviceID
	// Kind is the technology of a link (NVLink), the v1alpha1.PCIRelation where there is none, and empty where nothing is
	// known.
	Kind string
	// MBps is the rate of one direction in MB/s (10^6 bytes per second); 0 where it is not known. Over PCIe it is the rate of
	// the slower one of the two devices' own links.
	MBps int64
}

// Slowest returns the slowest connection between any two of the devices; of equal ones the farthest on PCI, and then the
// first by the ids. It is false where there are no two. A device that is not in the inventory has an unknown connection to
// every other.
func (t *Topology) Slowest(devices []v1alpha1.DeviceID) (Connection, bool) {
	devices = sorted(devices)
	farthest, found := Connection{}, -1
	for i, a := range devices {
		for _, b := range devices[i+1:] {
			connection, distance := t.connection(a, b)
			if distance > found {
				farthest, found = connection, distance
			}
		}
	}
	return farthest, found >= 0
}

func (t *Topology) connection(a, b v1alpha1.DeviceID) (Connection, int) {
	const unknown = 1 << 16
	i, knownA := t.index[a]
	j, knownB := t.index[b]
	if !knownA || !knownB {
		return Connection{A: a, B: b}, unknown
	}
	p := t.pair(i, j)
	return Connection{A: a, B: b, Kind: t.kinds[p.kind], MBps: t.rates[p.level()].mbps}, int(p.distance)
}

// String prints the connection for a log.
func (c Connection) String() string {
	kind, rate := c.Kind, "an unknown rate"
	switch kind {
	case "":
		kind = "unknown connection"
	case string(v1alpha1.SameDevice):
		return fmt.Sprintf("%s and %s are parts of one device", c.A, c.B)
	}
	if c.MBps > 0 {
		rate = fmt.Sprintf("%d MB/s", c.MBps)
	}
	return fmt.Sprintf("%s at %s between %s and %s", kind, rate, c.A, c.B)
}
