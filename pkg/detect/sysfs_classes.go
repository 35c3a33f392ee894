package detect

import (
	"path"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

// classMember is an entry of a kernel's device class, such as /sys/class/accel/accel0.
type classMember struct {
	name string
	// path is the device node; empty where the kernel names none or it is not there.
	path string
}

// classMembers returns the members of a device class by the sysfs folder of the device that each belongs to: neither the
// order nor the number of a member says where it sits. The kernel's own name of the node is used (DEVNAME in uevent),
// since drivers put the same class in different places: /dev/accel0, /dev/accel/accel0.
func classMembers(files host.Files, class string) (map[string][]classMember, error) {
	return membersBy(files, class, func(member string) (string, bool) {
		device, err := files.RealPath(path.Join(member, "device"))
		return device, err == nil
	})
}

// membersBy returns the members of a device class by what place makes of their sysfs folders. Those that it does not place are
// members of no such device, or gone.
func membersBy(files host.Files, class string, place func(member string) (string, bool)) (map[string][]classMember, error) {
	folder := path.Join("/sys/class", class)
	names, err := host.ReadNames(files, folder)
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
		if node := deviceNode(files, own); node != "" && host.Exists(files, node) {
			member.path = node
		}
		members[at] = append(members[at], member)
	}
	return members, nil
}

// deviceNode is the node that the kernel names for a device in sysfs; empty where it names none.
func deviceNode(files host.Files, folder string) string {
	uevent, _, _ := host.ReadText(files, path.Join(folder, "uevent"))
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

// maxChildren caps what is looked through below a PCI function: drivers make a few entries.
const maxChildren = 64

// notClasses are folders of a PCI function that belong to the bus and hold no class devices.
var notClasses = []string{"driver", "subsystem", "firmware_node", "iommu", "iommu_group", "link", "msi_irqs", "physfn", "power"}

// ownNodes returns the device nodes of the class devices below the folder of a PCI function, whatever the driver calls their class.
func ownNodes(files host.Files, folder string) ([]string, error) {
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
			if node := deviceNode(files, path.Join(folder, name, member)); node != "" && host.Exists(files, node) && len(nodes) < maxPaths {
				nodes = append(nodes, node)
			}
		}
	}
	slices.Sort(nodes)
	return slices.Compact(nodes), nil
}
