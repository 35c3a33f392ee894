package detect

import (
	"path"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// pciPlaces is the PCI functions of a host by their folders under /sys/devices.
type pciPlaces map[string]*pciFunction

func placesOf(functions []pciFunction) pciPlaces {
	places := make(pciPlaces, len(functions))
	for i := range functions {
		places[functions[i].Path] = &functions[i]
	}
	return places
}

// above returns the function that a resolved sysfs folder is, or is attached to; nil where there is none. What hangs on a
// USB port is not attached to PCI in any sense that tells its distance to a device.
func (p pciPlaces) above(folder string) *pciFunction {
	if function, ok := p[folder]; ok {
		return function
	}
	for folder = path.Dir(folder); len(folder) > len("/sys/devices"); folder = path.Dir(folder) {
		if function, ok := p[folder]; ok {
			if strings.HasPrefix(function.Class, "06") || strings.HasPrefix(function.Class, "0c03") {
				return nil
			}
			return function
		}
	}
	return nil
}

// attachment is the hardware that a member of a kernel's class belongs to.
type attachment struct {
	// folder is the hardware's in sysfs, links resolved.
	folder string
	driver string
	numa   *int32
	pci    *v1alpha1.PCIDevice
}

// attached follows the link `device` of a member of a class. ok is false where there is none: the member is software.
func attached(files host.Files, places pciPlaces, member string) (a attachment, ok bool) {
	folder, err := files.RealPath(path.Join(member, "device"))
	if err != nil {
		return attachment{}, false
	}
	a.folder = folder
	if target, err := files.ReadLink(path.Join(folder, "driver")); err == nil {
		a.driver = path.Base(target)
	}
	if function := places.above(folder); function != nil {
		pci := function.PCIDevice
		a.pci, a.numa = &pci, function.NUMANode
	}
	if a.numa == nil {
		a.numa = readNUMANode(files, folder)
	}
	return a, true
}
