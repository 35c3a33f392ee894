package backend

import (
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// NotMonitored is the health of a device that nothing observes.
func NotMonitored(why string) v1alpha1.DeviceHealth {
	return Unknown(v1alpha1.ReasonNotMonitored, why)
}

// Unknown is the health of a device of which nobody can say how it is; the message says what to do about that.
func Unknown(reason, message string) v1alpha1.DeviceHealth {
	return v1alpha1.DeviceHealth{State: v1alpha1.Unknown, Reason: reason, Message: message}
}

// Degraded is the health of a device that computes and that something is wrong with.
func Degraded(reason, message string) v1alpha1.DeviceHealth {
	return v1alpha1.DeviceHealth{State: v1alpha1.Degraded, Reason: reason, Message: message}
}

// Unhealthy is the health of a device that cannot compute.
func Unhealthy(reason, message string) v1alpha1.DeviceHealth {
	return v1alpha1.DeviceHealth{State: v1alpha1.Unhealthy, Reason: reason, Message: message}
}

// ReasonOpened is the reason by which a backend says that it sees no more of a Healthy device than that it can be opened.
// Detect decides by what else is seen of the device, and leaves none of that reason.
const ReasonOpened = "Opened"

// Opened returns the health of a device of which no more is seen than that it can be opened.
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
		return Unknown(ReasonDriverMissing, "no driver is bound to the device: "+load)
	case len(paths) == 0:
		return Unknown(ReasonNodeMissing, fmt.Sprintf("the driver %s has made no device node: see dmesg, and mount the host's /dev where a container looks", driver))
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
	return Unknown(ReasonOtherDriver, "the device is bound to "+device.Driver+", not to "+strings.Join(drivers, " or ")+": it may be a virtual machine's")
}
