package pci

import (
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

// readUevent reads class, ids and driver from the one file in which the kernel has them all (Linux, pci_uevent in
// drivers/pci/pci-driver.c): a server has some hundred functions, and most of what a detection takes is opening files.
// It says whether the file has them; where it does not, they stay unset.
func (f *Function) readUevent(files host.Files) bool {
	text, ok, err := host.ReadText(files, f.Path+"/uevent")
	if !ok || err != nil {
		return false
	}
	ids, ok := parseUevent(text)
	if !ok {
		return false
	}
	f.Class, f.Driver = ids.class, ids.driver
	f.VendorID, f.DeviceID = ids.vendor, ids.device
	f.SubsystemVendorID, f.SubsystemDeviceID = ids.subsystemVendor, ids.subsystemDevice
	return true
}

// functionIDs are what the uevent file of a function holds, in the form of the API; driver is empty where none is bound.
type functionIDs struct {
	class, vendor, device, subsystemVendor, subsystemDevice, driver string
}

// parseUevent reads lines such as `PCI_CLASS=30200`, `PCI_ID=10DE:2330`, `PCI_SUBSYS_ID=10DE:16C1` and
// `DRIVER=nvidia`; ok is false where a line but the driver's is missing or is no such number.
func parseUevent(text string) (ids functionIDs, ok bool) {
	var class, id, subsystem bool
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch key {
		case "DRIVER":
			ids.driver = host.Clip(value, 64)
		case "PCI_CLASS":
			ids.class, class = hexField(value, 6)
		case "PCI_ID":
			ids.vendor, ids.device, id = hexPair(value)
		case "PCI_SUBSYS_ID":
			ids.subsystemVendor, ids.subsystemDevice, subsystem = hexPair(value)
		}
	}
	if !class || !id || !subsystem {
		return functionIDs{}, false
	}
	return ids, true
}

func hexPair(text string) (vendor, device string, ok bool) {
	first, second, _ := strings.Cut(text, ":")
	vendor, ok = hexField(first, 4)
	if ok {
		device, ok = hexField(second, 4)
	}
	return vendor, device, ok
}

// hexField reads a number of at most so many hex digits, and prints it in as many.
func hexField(text string, digits int) (string, bool) {
	value, err := strconv.ParseUint(text, 16, 4*digits)
	if err != nil {
		return "", false
	}
	return hexDigits(value, digits), true
}
