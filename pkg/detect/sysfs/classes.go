package sysfs

import (
	"path"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

// Member is an entry of a kernel's device class, such as /sys/class/accel/accel0.
type Member struct {
	Name string
	// path is the device node; empty where the kernel names none or it is not there.
	path string
}

// ClassMembers returns the members of a device class by the sysfs folder of the device that each belongs to: neither the
// order nor the number of a member says where it sits. The kernel's own name of the node is used (DEVNAME in uevent),
// since drivers put the same class in different places: /dev/accel0, /dev/accel/accel0.
func ClassMembers(files host.Files, class string) (map[string][]Member, error) {
	return MembersBy(files, class, func(member string) (string, bool) {
		device, err := files.RealPath(path.Join(member, "device"))
		return device, err == nil
	})
}

// MembersBy returns the members of a device class by what place makes of their sysfs folders. Those that it does not place are
// members of no such device, or gone.
func MembersBy(files host.Files, class string, place func(member string) (string, bool)) (map[string][]Member, error) {
	folder := path.Join("/sys/class", class)
	names, err := host.ReadNames(files, folder)
	if err != nil {
		return nil, err
	}
	members := map[string][]Member{}
	for _, name := range names {
		own := path.Join(folder, name)
		at, ok := place(own)
		if !ok {
			continue
		}
		members[at] = append(members[at], Member{Name: name, path: DeviceNode(files, own)})
	}
	return members, nil
}

// DeviceNode returns the device node that the kernel names for a folder of a device in sysfs; empty where it names none, or the node
// is not there.
func DeviceNode(files host.Files, folder string) string {
	uevent, _, _ := host.ReadText(files, path.Join(folder, "uevent"))
	name := strings.TrimPrefix(ParseUevent(uevent)["DEVNAME"], "/")
	if name == "" || path.Clean("/"+name) != "/"+name {
		return ""
	}
	if node := path.Join("/dev", strings.TrimPrefix(name, "dev/")); host.Exists(files, node) {
		return node
	}
	return ""
}

// NodePaths returns the device nodes of members of a class.
func NodePaths(members []Member) []string {
	var paths []string
	for _, m := range members {
		if m.path != "" {
			paths = append(paths, m.path)
		}
	}
	return paths
}

// FirstNumber is the number in the name of the first member that is called by the prefix and a number; nil where there is none.
func FirstNumber(members []Member, prefix string) *int32 {
	for _, m := range members {
		digits, called := strings.CutPrefix(m.Name, prefix)
		if number, ok := host.ParseIndex(digits); called && ok {
			return new(int32(number))
		}
	}
	return nil
}

// maxNodes is how many device nodes of a function are of use: the API takes no more of a device.
const maxNodes = 32

// maxChildren caps what is looked through below a PCI function: drivers make a few entries.
const maxChildren = 64

// notClasses are folders of a PCI function that belong to the bus and hold no class devices.
var notClasses = []string{"driver", "subsystem", "firmware_node", "iommu", "iommu_group", "link", "msi_irqs", "physfn", "power"}

// OwnNodes returns the device nodes of the class devices below the folder of a PCI function, whatever the driver calls their class.
func OwnNodes(files host.Files, folder string) ([]string, error) {
	names, err := host.ReadNames(files, folder)
	if err != nil {
		return nil, err
	}
	var nodes []string
	for _, name := range names {
		if slices.Contains(notClasses, name) || strings.HasPrefix(name, "virtfn") {
			continue
		}
		members, err := files.ReadDir(path.Join(folder, name))
		if err != nil {
			continue // a file
		}
		for _, member := range members[:min(len(members), maxChildren)] {
			if node := DeviceNode(files, path.Join(folder, name, member)); node != "" {
				nodes = append(nodes, node)
			}
		}
	}
	slices.Sort(nodes)
	nodes = slices.Compact(nodes)
	return nodes[:min(len(nodes), maxNodes)], nil
}
