package pci

import (
	"path"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/sysfs"
)

// Places is the PCI functions of a host by their folders under /sys/devices.
type Places map[string]*Function

// PlacesOf finds functions by their folders.
func PlacesOf(functions []Function) Places {
	places := make(Places, len(functions))
	for i := range functions {
		places[functions[i].Path] = &functions[i]
	}
	return places
}

// above returns the function that a resolved sysfs folder is, or is attached to; nil where there is none. What hangs on a
// USB port is not attached to PCI in any sense that tells its distance to a device.
func (p Places) above(folder string) *Function {
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

// Attachment is the hardware that a member of a kernel's class belongs to.
type Attachment struct {
	// Folder is the hardware's folder in sysfs, links resolved.
	Folder string
	Driver string
	Numa   *int32
	Pci    *v1alpha1.PCIDevice
}

// Attached follows the link `device` of a member of a class. ok is false where there is none: the member is software.
func Attached(files host.Files, places Places, member string) (a Attachment, ok bool) {
	folder, err := files.RealPath(path.Join(member, "device"))
	if err != nil {
		return Attachment{}, false
	}
	a.Folder, a.Driver = folder, sysfs.Driver(files, folder)
	if function := places.above(folder); function != nil {
		a.Pci, a.Numa = new(function.PCIDevice), function.NUMANode
	}
	if a.Numa == nil {
		a.Numa = sysfs.ReadNUMANode(files, folder)
	}
	return a, true
}

// MembersByAddress returns the members of a device class by the PCI address of the device that each belongs to.
// attribute is the file in which the driver writes that address; where it does not, the member's device link leads to
// the function. Neither names nor order of the members say where they sit.
func MembersByAddress(files host.Files, class, attribute string) (map[string][]sysfs.Member, error) {
	return sysfs.MembersBy(files, class, func(member string) (string, bool) { return memberAddress(files, member, attribute) })
}

func memberAddress(files host.Files, folder, attribute string) (string, bool) {
	text, _, _ := host.ReadText(files, path.Join(folder, attribute))
	if address, ok := ParseAddress(text); ok {
		return address, true
	}
	device, err := files.RealPath(path.Join(folder, "device"))
	if err != nil {
		return "", false
	}
	address := path.Base(device)
	return address, IsAddress(address)
}

// ParseAddress brings a PCI address as tools print it (`0000:C1:00.0`) to the kernel's form.
func ParseAddress(text string) (string, bool) {
	address := strings.ToLower(strings.TrimSpace(text))
	return address, IsAddress(address)
}
