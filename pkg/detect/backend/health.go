package backend

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// NotMonitored returns the health of a device that nothing observes.
func NotMonitored(why string) v1alpha1.DeviceHealth {
	return Unknown(v1alpha1.ReasonNotMonitored, why)
}

// Unknown returns the health of a device whose health cannot be told; message says what to do about that.
func Unknown(reason, message string) v1alpha1.DeviceHealth {
	return v1alpha1.DeviceHealth{State: v1alpha1.Unknown, Reason: reason, Message: message}
}

// Degraded returns the health of a device that computes though something is wrong with it.
func Degraded(reason, message string) v1alpha1.DeviceHealth {
	return v1alpha1.DeviceHealth{State: v1alpha1.Degraded, Reason: reason, Message: message}
}

// Unhealthy returns the health of a device that cannot compute.
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

// Healthy returns the health of a device that is well, as the evidence says.
func Healthy(evidence string) v1alpha1.DeviceHealth {
	return v1alpha1.DeviceHealth{State: v1alpha1.Healthy, Message: evidence}
}

// Reasons of a device's health that backends share.
const (
	reasonDriverMissing = "DriverMissing"
	ReasonOtherDriver   = "OtherDriver"
)

// DriverHealth returns the health of a device of which a backend sees only whether it can be opened: whether a driver is bound
// and device nodes exist. load says how to get a driver.
func DriverHealth(driver string, paths []string, load string) v1alpha1.DeviceHealth {
	switch {
	case driver == "":
		return Unknown(reasonDriverMissing, "no driver is bound to the device: "+load)
	case len(paths) == 0:
		return Unknown(ReasonNodeMissing, fmt.Sprintf("the driver %s has made no device node: see dmesg, and mount the host's /dev where a container looks", driver))
	default:
		return Opened()
	}
}

// ReasonNodeMissing is the reason of a device that has a driver and no device node.
const ReasonNodeMissing = "DeviceNodeMissing"

// HealthUnder returns the DriverHealth of a device that only some drivers can run work on; Unknown under any other driver.
func HealthUnder(driver string, paths []string, load string, drivers ...string) v1alpha1.DeviceHealth {
	if driver == "" || slices.Contains(drivers, driver) {
		return DriverHealth(driver, paths, load)
	}
	return Unknown(ReasonOtherDriver, "the device is bound to "+driver+", not to "+strings.Join(drivers, " or ")+": it may be a virtual machine's")
}
