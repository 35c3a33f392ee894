package pci

import (
	"path"
	"strings"

	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/sysfs"
)

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
