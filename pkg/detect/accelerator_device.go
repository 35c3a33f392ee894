package detect

import (
	"cmp"
	"fmt"
	"path"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
)

// deviceKind is what all devices of a backend have in common.
type deviceKind struct {
	backend, vendor string
	family          v1alpha1.DeviceFamily
}

// device lists a PCI function with what the kernel and the catalogue know of it: memory and rates are nominal, and the
// health is left to the caller. name is the product's as the backend knows it before the catalogue is asked; empty where
// it does not. known says whether the catalogue has the product.
func (k deviceKind) device(files Files, function pciFunction, name string) (device v1alpha1.Device, product accelerator.Product, known bool) {
	pci := function.PCIDevice
	device = v1alpha1.Device{
		ID:     v1alpha1.DeviceID(k.vendor + "-" + function.Address),
		Vendor: k.vendor, Family: k.family, Backend: k.backend,
		Driver: function.Driver, PCI: &pci, NUMANode: function.NUMANode,
	}
	if function.Driver != "" {
		device.DriverVersion = moduleVersion(files, function.Driver)
	}
	product, known = accelerator.Lookup(accelerator.Key{
		VendorID: pci.VendorID, DeviceID: pci.DeviceID, Revision: pci.Revision,
		SubsystemVendorID: pci.SubsystemVendorID, SubsystemDeviceID: pci.SubsystemDeviceID, Product: name,
	})
	device.Product = name
	if known {
		device.Product = cmp.Or(name, product.Name)
		describe(&device, product)
	}
	return device, product, known
}

// describe sets what the catalogue knows of the device's product.
func describe(device *v1alpha1.Device, product accelerator.Product) {
	device.Architecture = cmp.Or(device.Architecture, product.Architecture)
	device.ComputeUnits = cmp.Or(device.ComputeUnits, product.ComputeUnits)
	performance := *product.Performance.DeepCopy()
	device.Performance = &performance
	if device.Memory == nil && product.MemoryMiB > 0 {
		device.Memory = &v1alpha1.DeviceMemory{TotalMiB: product.UsableMiB(), Source: v1alpha1.SourceCatalogue}
	}
}

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

// isVirtualFunction says whether the function belongs to a guest of an SR-IOV host rather than to the host itself.
func isVirtualFunction(files Files, function pciFunction) bool {
	_, err := files.ReadLink(path.Join(function.Path, "physfn"))
	return err == nil
}

// classMember is an entry of a kernel's device class, such as /sys/class/accel/accel0.
type classMember struct {
	name string
	// path is the device node; empty where the kernel names none or it is not there.
	path string
}

// classMembers returns the members of a device class by the sysfs folder of the device that each belongs to: neither the
// order nor the number of a member says where it sits. The kernel's own name of the node is used (DEVNAME in uevent),
// since drivers put the same class in different places: /dev/accel0, /dev/accel/accel0.
func classMembers(files Files, class string) (map[string][]classMember, error) {
	return membersBy(files, class, func(member string) (string, bool) {
		device, err := files.RealPath(path.Join(member, "device"))
		return device, err == nil
	})
}

// membersBy returns the members of a device class by what place makes of their sysfs folders. Those that it does not place are
// members of no such device, or gone.
func membersBy(files Files, class string, place func(member string) (string, bool)) (map[string][]classMember, error) {
	folder := path.Join("/sys/class", class)
	names, err := readNames(files, folder)
	if err != nil {
		return nil, err
	}
	members := map[string][]classMember{}
	for _, name := range names {
		own := path.Join(folder, name)
		at, ok := place(own)
		if !ok {
			continue
		}
		member := classMember{name: name}
		if node := deviceNode(files, own); node != "" && exists(files, node) {
			member.path = node
		}
		members[at] = append(members[at], member)
	}
	return members, nil
}

// deviceNode is the node that the kernel names for a device in sysfs; empty where it names none.
func deviceNode(files Files, folder string) string {
	uevent, _, _ := readText(files, path.Join(folder, "uevent"))
	for line := range strings.Lines(uevent) {
		name, found := strings.CutPrefix(strings.TrimSpace(line), "DEVNAME=")
		if found && name != "" && path.Clean("/"+name) == "/"+strings.TrimPrefix(name, "/") {
			return path.Join("/dev", strings.TrimPrefix(strings.TrimPrefix(name, "/"), "dev/"))
		}
	}
	return ""
}

// nodePaths are the device nodes of class members.
func nodePaths(members []classMember) []string {
	var paths []string
	for _, m := range members {
		if m.path != "" {
			paths = append(paths, m.path)
		}
	}
	return paths
}
