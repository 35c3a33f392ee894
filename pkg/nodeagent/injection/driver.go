package injection

import (
	"errors"
	"fmt"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"tags.cncf.io/container-device-interface/specs-go"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// ExitNoDriver is the exit status of rankwright-cdi where it could look, and the node has no driver that containers can be given:
// what was found before is there no longer.
const ExitNoDriver = 3

// Driver is what a container needs of a node's NVIDIA driver beside device nodes: libraries, tools, firmware, sockets, and
// the hooks that make them known to it.
type Driver struct {
	// Version is the release of the libraries (`580.105.08`).
	Version string
	edits   specs.ContainerEdits
}

// ParseDriver reads what rankwright-cdi printed, or what this package made of it. Only what all devices have in common is
// looked at: device nodes are told by the inventory.
func ParseDriver(text []byte) (*Driver, error) {
	spec, err := parseSpecification(text)
	if err != nil {
		return nil, err
	}
	driver := &Driver{edits: spec.ContainerEdits}
	driver.edits.DeviceNodes = nil
	for _, hook := range driver.edits.Hooks {
		if hook == nil || !path.IsAbs(hook.Path) {
			return nil, errors.New("a hook has no absolute path, by which runtimes could run it")
		}
	}
	library, found := mounted(driver.edits.Mounts, kindNamed("nvidia").Library)
	if !found {
		return nil, fmt.Errorf("no %s is mounted, without which no CUDA program starts", kindNamed("nvidia").Library)
	}
	driver.Version = releaseOf(library)
	return driver, nil
}

// Equal says whether containers need the same by both.
func (d *Driver) Equal(other *Driver) bool { return reflect.DeepEqual(d, other) }

// mounted finds the file that a library is mounted as, by the beginning of its name. Of several, as the library and its
// links, it is the one whose name has the release.
func mounted(mounts []*specs.Mount, library string) (name string, found bool) {
	for _, m := range mounts {
		if m == nil || !strings.HasPrefix(path.Base(m.ContainerPath), library) {
			continue
		}
		if base := path.Base(m.ContainerPath); !found || releaseOf(base) != "" {
			name, found = base, true
		}
	}
	return name, found
}

// release is how NVIDIA numbers its drivers, from 300 on; libraries that are of no release have other numbers (libcuda.so.1.1
// of Jetson and of the subsystem for Linux of Windows).
var release = regexp.MustCompile(`\.so\.(\d{3}\.\d+(\.\d+)?)$`)

func releaseOf(library string) string {
	if match := release.FindStringSubmatch(library); match != nil {
		return match[1]
	}
	return ""
}

// CheckNeeds says why nothing would work in a container that was given a device.
func CheckNeeds(mode Mode, d *v1alpha1.Device, node Node) error {
	kind, settings := kindOf(d), node.Vendors[d.Vendor]
	if files := node.Files; files != nil {
		for _, name := range kind.requiredBy(d) {
			if !exists(files, name) {
				return fmt.Errorf("the node has no %s, without which no container can use it: run `nvidia-modprobe -c 0 -u` there, "+
					"or let the node helper make it", name)
			}
		}
		for _, name := range settings.imexNodes() {
			if !exists(files, name) {
				return fmt.Errorf("imexChannels: the node has no %s: run `nvidia-modprobe -i` there, let the node helper make it, or leave imexChannels out", name)
			}
		}
	}
	if mode != CDI || !node.needsDriver(*d) {
		return nil
	}
	return node.checkDriver(d, kind.Library)
}

// wslNode is the one node of all GPUs in the subsystem for Linux of Windows.
const wslNode = "/dev/dxg"

// requiredBy are the shared nodes without which nothing can be done with a device.
func (k *Kind) requiredBy(d *v1alpha1.Device) []string {
	if slices.Contains(d.Paths, wslNode) {
		return nil
	}
	return k.Required
}

// checkDriver says why the node's own specification has not what a device needs of its driver.
func (n *Node) checkDriver(d *v1alpha1.Device, library string) error {
	switch {
	case ofHostsOwn(d):
		return fmt.Errorf("a specification of our own does not have the %s of a Jetson: set cdiKind to that of the host's (nvidia.com/gpu)", library)
	case n.Driver == nil:
		return fmt.Errorf("what containers need of its driver is not known: %s", n.DriverProblem)
	case differs(n.Driver.Version, d.DriverVersion):
		return fmt.Errorf("its driver is %s, and the libraries for containers are %s: they are looked for again when the driver has changed; "+
			"restart the node where a new one is installed and the old one is still loaded", d.DriverVersion, n.Driver.Version)
	}
	return nil
}

// differs says whether both releases are known, and not the same.
func differs(a, b string) bool { return a != "" && b != "" && a != b }

// needsDriver says whether a specification of our own must have the files of a device's driver.
func (n *Node) needsDriver(d v1alpha1.Device) bool {
	settings := n.Vendors[d.Vendor]
	return kindOf(&d).Library != "" && settings.UserLibraries == "" && settings.CDIKind == ""
}

// ofHostsOwn says whether what a device needs of its driver is told by lists of the host's alone.
func ofHostsOwn(d *v1alpha1.Device) bool { return d.Backend == "jetson" }

// imexNodes are the nodes of the IMEX channels.
func (s Settings) imexNodes() []string {
	var nodes []string
	for _, channel := range s.IMEXChannels {
		nodes = append(nodes, fmt.Sprint("/dev/nvidia-caps-imex-channels/channel", channel))
	}
	return nodes
}

// drmNodes returns the DRM nodes by which a GPU of NVIDIA's draws and encodes, as far as the host has them. A MIG device has none.
func drmNodes(d *v1alpha1.Device, files host.Files) []string {
	if d.Backend != "nvidia" || d.PCI == nil || d.Partition != nil || files == nil {
		return nil
	}
	names, err := files.ReadDir(path.Join("/sys/bus/pci/devices", d.PCI.Address, "drm"))
	if err != nil {
		return nil
	}
	var nodes []string
	for _, name := range names {
		if node := path.Join("/dev/dri", name); exists(files, node) && !slices.Contains(d.Paths, node) {
			nodes = append(nodes, node)
		}
	}
	return nodes
}
