package nodeagent

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
)

// uevent is a message of the kernel about a device.
type uevent struct {
	// action is add, remove, change, bind, unbind, move, online or offline.
	action string
	// path is the device's folder in sysfs, without /sys.
	path      string
	subsystem string
	// wedged says that a GPU's driver gave up on it (WEDGED, Documentation/gpu/drm-uapi.rst).
	wedged bool
}

// parseUevent reads a message: `add@/devices/pci…`, then KEY=value, each ended by a zero byte (lib/kobject_uevent.c). A
// message of udevd, which begins with its name, is none of the kernel's.
func parseUevent(message []byte) (uevent, bool) {
	head, rest, ended := bytes.Cut(message, []byte{0})
	action, path, found := strings.Cut(string(head), "@")
	if !ended || !found || action == "" || !strings.HasPrefix(path, "/") {
		return uevent{}, false
	}
	event := uevent{action: action, path: path}
	for field := range bytes.SplitSeq(rest, []byte{0}) {
		key, value, _ := strings.Cut(string(field), "=")
		switch key {
		case "SUBSYSTEM":
			event.subsystem = value
		case "WEDGED":
			event.wedged = value != "" && value != "none"
		}
	}
	return event, event.subsystem != ""
}

// pciAddress returns the address of the PCI function that the device is, or belongs to: the last on its path; empty without one.
func (e uevent) pciAddress() string {
	for _, step := range slices.Backward(strings.Split(e.path, "/")) {
		if pciFunction.MatchString(step) {
			return step
		}
	}
	return ""
}

var pciFunction = regexp.MustCompile(`^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$`)

// watchedSubsystems are the kernel's subsystems of what an inventory has: devices, their buses, ports and disks.
var watchedSubsystems = []string{
	"accel", "block", "cxl", "drm", "infiniband", "kfd", "misc", "net", "neuron_device", "nvme", "pci", "platform", "tenstorrent", "vfio", "vfio-dev",
}

// matters says whether the event can change an inventory. Devices without hardware come and go with every pod (veth, loop,
// dm), and a screen that is plugged in changes its card.
func (e uevent) matters() bool {
	if !slices.Contains(watchedSubsystems, e.subsystem) {
		return false
	}
	virtual := strings.HasPrefix(e.path, "/devices/virtual/")
	switch {
	case virtual && (e.subsystem == "net" || e.subsystem == "block"):
		return false
	case e.action == "change":
		return e.wedged || e.subsystem == "pci" || e.subsystem == "accel"
	default:
		return true
	}
}
