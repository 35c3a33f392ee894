package backend

import (
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// NotMonitored is the health of a device that nothing observes.
func NotMonitored(why string) v1alpha1.DeviceHealth {
	return v1alpha1.DeviceHealth{State: v1alpha1.Unknown, Reason: v1alpha1.ReasonNotMonitored, Message: why}
}

// ReasonOpened is the reason by which a backend says that it sees no more of a Healthy device than that it can be opened.
// Detect decides by what else is seen of the device, and leaves none of that reason.
const ReasonOpened = "Opened"

// Opened is the health of such a device.
func Opened() v1alpha1.DeviceHealth {
	return v1alpha1.DeviceHealth{State: v1alpha1.Healthy, Reason: ReasonOpened, Message: "the device can be opened"}
}

// Healthy is the health of a device of which something says that it is well.
func Healthy(evidence string) v1alpha1.DeviceHealth {
	return v1alpha1.DeviceHealth{State: v1alpha1.Healthy, Message: evidence}
}

// Reasons of a device's health that backends share.
const (
	ReasonDriverMissing = "DriverMissing"
	ReasonOtherDriver   = "OtherDriver"
)

// DriverHealth is the health of a device of which its backend sees no more than whether it can be opened: its driver is
// bound and its nodes exist. load says how to get a driver.
func DriverHealth(driver string, paths []string, load string) v1alpha1.DeviceHealth {
	switch {
	case driver == "":
		return v1alpha1.DeviceHealth{
			State: v1alpha1.Unknown, Reason: ReasonDriverMissing, Message: "no driver is bound to the device: " + load,
		}
	case len(paths) == 0:
		return v1alpha1.DeviceHealth{
			State: v1alpha1.Unknown, Reason: ReasonNodeMissing,
			Message: fmt.Sprintf("the driver %s has made no device node: see dmesg, and mount the host's /dev where a container looks", driver),
		}
	default:
		return Opened()
	}
}

// ReasonNodeMissing is the reason of a device that has a driver and cannot be opened.
const ReasonNodeMissing = "DeviceNodeMissing"

// HealthUnder is DriverHealth for a device that only some drivers can run work on.
func HealthUnder(device v1alpha1.Device, load string, drivers ...string) v1alpha1.DeviceHealth {
	for _, driver := range append(drivers, "") {
		if device.Driver == driver {
			return DriverHealth(device.Driver, device.Paths, load)
		}
	}
	return v1alpha1.DeviceHealth{
		State: v1alpha1.Unknown, Reason: ReasonOtherDriver,
		Message: "the device is bound to " + device.Driver + ", not to " + strings.Join(drivers, " or ") + ": it may be a virtual machine's",
	}
}
