package detect

import (
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// notMonitored is the health of a device that nothing observes.
func notMonitored(why string) v1alpha1.DeviceHealth {
	return v1alpha1.DeviceHealth{State: v1alpha1.Unknown, Reason: v1alpha1.ReasonNotMonitored, Message: why}
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

// Reasons of a device's health that backends share.
const (
	reasonDriverMissing = "DriverMissing"
	reasonOtherDriver   = "OtherDriver"
)

// driverHealth is the health of a device of which its backend sees no more than whether it can be opened: its driver is
// bound and its nodes exist. load says how to get a driver.
func driverHealth(driver string, paths []string, load string) v1alpha1.DeviceHealth {
	switch {
	case driver == "":
		return v1alpha1.DeviceHealth{
			State: v1alpha1.Unknown, Reason: reasonDriverMissing, Message: "no driver is bound to the device: " + load,
		}
	case len(paths) == 0:
		return v1alpha1.DeviceHealth{
			State: v1alpha1.Unknown, Reason: reasonNodeMissing,
			Message: fmt.Sprintf("the driver %s has made no device node: see dmesg, and mount the host's /dev where a container looks", driver),
		}
	default:
		return opened()
	}
}

// reasonNodeMissing is the reason of a device that has a driver and cannot be opened.
const reasonNodeMissing = "DeviceNodeMissing"

// healthUnderDriver is driverHealth for a device that only some drivers can run work on.
func healthUnderDriver(device v1alpha1.Device, load string, drivers ...string) v1alpha1.DeviceHealth {
	for _, driver := range append(drivers, "") {
		if device.Driver == driver {
			return driverHealth(device.Driver, device.Paths, load)
		}
	}
	return v1alpha1.DeviceHealth{
		State: v1alpha1.Unknown, Reason: reasonOtherDriver,
		Message: "the device is bound to " + device.Driver + ", not to " + strings.Join(drivers, " or ") + ": it may be a virtual machine's",
	}
}
