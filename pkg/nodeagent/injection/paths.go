package injection

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// Permissions are what the device cgroup allows: read and write. Never m (mknod), by which a container could make other
// devices' nodes.
const Permissions = "rw"

// checkPaths says why a device cannot be given to a container by its nodes. A node that is gone would fail the container
// in its runtime, with a message that names no device.
func checkPaths(d *v1alpha1.Device, files host.Files) error {
	if len(d.Paths) == 0 {
		return fmt.Errorf("device %s: it has no device node (driver %q, health %s): %s", d.ID, d.Driver, d.Health.State, noNodeRemedy(d))
	}
	for _, name := range d.Paths {
		if !strings.HasPrefix(name, "/dev/") || path.Clean(name) != name {
			return fmt.Errorf("device %s: path %q is not a file below /dev", d.ID, name)
		}
		if files == nil {
			continue
		}
		if _, err := files.Stat(name); err != nil {
			return fmt.Errorf("device %s: %s is gone since it was detected: load its driver again, or wait for the next detection: %w", d.ID, name, err)
		}
	}
	return nil
}

func noNodeRemedy(d *v1alpha1.Device) string {
	switch {
	case d.Driver == "vfio-pci":
		return "it is bound to vfio-pci for virtual machines, bind the vendor's driver"
	case d.Health.State != v1alpha1.Healthy && d.Health.Message != "":
		return d.Health.Message
	default:
		return "load the vendor's driver, or do not serve what is not reached by a device node"
	}
}

// checkSeparable fails where the granted devices' nodes are all that another device needs, and nothing else tells the two
// apart: cores of one chip, chips behind one node.
func (g grant) checkSeparable() error {
	if !slices.ContainsFunc(g.devices, func(d v1alpha1.Device) bool { return !separated(&d) }) {
		return nil
	}
	seen := seenBy(g.paths(), g.others())
	if len(seen) == 0 {
		return nil
	}
	return fmt.Errorf("device %s and %s: they are reached by the same device nodes and %w; grant them together", g.devices[0].ID, seen[0], errNotSeparable)
}

// separated says whether more than its nodes keeps the device apart from those that are reached by the same ones: a variable
// with its number, where that is known.
func separated(d *v1alpha1.Device) bool { return kindOf(d).separates && d.Index != nil }

// seenBy returns those devices whose nodes are all among the paths.
func seenBy(paths []string, devices []*v1alpha1.Device) []v1alpha1.DeviceID {
	var seen []v1alpha1.DeviceID
	for _, d := range devices {
		missing := slices.ContainsFunc(d.Paths, func(name string) bool { return !slices.Contains(paths, name) })
		if len(d.Paths) > 0 && !missing {
			seen = append(seen, d.ID)
		}
	}
	slices.Sort(seen)
	return seen
}
