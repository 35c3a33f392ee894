package pci

import (
	"path"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// linkRate is what a PCI link can carry in one direction, in MB/s: now, and at most.
type linkRate struct{ Now, Most *int64 }

// readRate reads the rate of a function's link that has so many lanes now. At most it is what the slower of its ends can do:
// the function and the port that it is connected to (Linux, Documentation/ABI/testing/sysfs-bus-pci: current_link_speed,
// max_link_speed, max_link_width).
func readRate(files host.Files, function Function, lanes int64) linkRate {
	now := v1alpha1.PCIDevice{LinkMTps: readLinkRate(files, function.Path, "current_link_speed"), LinkWidth: int32(lanes)}
	most := v1alpha1.PCIDevice{LinkMTps: function.LinkMTps, LinkWidth: min(function.LinkWidth, int32(portLanes(files, function, "max_link_width")))}
	if port := readLinkRate(files, path.Dir(function.Path), "max_link_speed"); port > 0 {
		most.LinkMTps = min(most.LinkMTps, port)
	}
	return linkRate{Now: positive(now.LinkMBps()), Most: positive(most.LinkMBps())}
}

// positive is the number; nil where it is 0, which stands for what is not known.
func positive(number int64) *int64 {
	if number <= 0 {
		return nil
	}
	return &number
}
