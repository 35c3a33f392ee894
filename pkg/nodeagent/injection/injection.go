// Package injection says what a container needs to see the devices it was granted, and no others.
//
// What a vendor's devices need is a row of a table (kinds.go), with its source. A node is looked at through detect.Files
// alone, so that a recording is all that the tests need.
package injection

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// Mode is how a container gets its devices. No API tells what the runtime of a node supports, so it is set for each
// vendor, and the modes are never mixed.
type Mode string

// The modes: by names that the container runtime looks up in CDI specifications, or by device nodes and mounts.
const (
	CDI         Mode = "CDI"
	DeviceNodes Mode = "DeviceNodes"
)

// Answer is what a container needs.
type Answer struct {
	Environment map[string]string
	// Paths are the nodes of /dev to make in the container in the same places, with Permissions.
	Paths []string
	// CDIDevices are qualified names, vendor.com/class=name: one for each granted device, in order of their ids.
	CDIDevices []string
}

// Node is what an answer depends on beside the granted devices.
type Node struct {
	// Devices are all devices of the node, granted or not.
	Devices []v1alpha1.Device
	// Files are the node's files; nil means that every device node is taken to exist, and no shared one.
	Files host.Files
	// Vendors are what is set for the devices of each vendor, by name.
	Vendors map[string]Settings
	// Driver is what containers need of NVIDIA's driver on this node; nil where that is not known, for the reason in
	// DriverProblem.
	Driver        *Driver
	DriverProblem string
	// Group tells the group that owns a device node; nil where nobody knows.
	Group func(name string) (gid uint32, err error)
}

// Settings are what a configuration says of a vendor's devices.
type Settings struct {
	// CDIKind is the kind of the vendor's own CDI specification to name in mode CDI (`nvidia.com/gpu`), which has what its user
	// libraries need; empty means the one that Specifications makes.
	CDIKind string `json:"cdiKind,omitempty"`
	// UserLibraries says who brings libcuda of the node's driver where the specification does not: NVIDIA's runtime, or the
	// image. For NVIDIA alone; empty means the specification.
	UserLibraries UserLibraries `json:"userLibraries,omitempty"`
	// IMEXChannels are the numbers of the channels by which GPUs of several nodes share memory; every container with a device
	// gets them. For NVIDIA alone.
	IMEXChannels []int `json:"imexChannels,omitempty"`
	// AdditionalGIDs has the processes of containers be in the groups that own their nodes (CDI 0.7.0), for nodes that not
	// everybody may use and images that do not run as root.
	AdditionalGIDs bool `json:"additionalGids,omitempty"`
}

// UserLibraries is who brings the user libraries of a driver.
type UserLibraries string

// Others than the specification: the vendor's container runtime, or the container's image.
const (
	FromRuntime UserLibraries = "Runtime"
	FromImage   UserLibraries = "Image"
)

// errNotSeparable is wrapped where a container would see a device that it was not granted.
var errNotSeparable = errors.New("cannot be kept apart")

// For answers for the devices granted to one container, which are all of one class. The answer does not depend on their
// order. Its error names the device and the remedy, also where other devices must be granted with them.
func For(mode Mode, granted []v1alpha1.Device, node Node) (Answer, error) {
	if mode != CDI && mode != DeviceNodes {
		return Answer{}, fmt.Errorf("injection mode %q: not known, take %s or %s", mode, CDI, DeviceNodes)
	}
	g, err := newGrant(granted, node)
	if err != nil {
		return Answer{}, err
	}
	answer := Answer{}
	for i := range g.devices {
		if err := CheckNeeds(mode, &g.devices[i], node); err != nil {
			return Answer{}, fmt.Errorf("device %s: %w", g.devices[i].ID, err)
		}
	}
	if mode == CDI {
		answer.CDIDevices, err = g.cdiNames()
	} else {
		answer.Paths = eachOnce(slices.Concat(g.paths(), g.kind.sharedNodes(node.Files), g.settings.imexNodes()))
	}
	if err == nil {
		answer.Environment, err = g.environment(mode)
	}
	if err != nil {
		return Answer{}, err
	}
	return answer, nil
}

// grant is what a container was granted: at least one device, each once, in order of their ids, all of one class.
type grant struct {
	class    string
	kind     Kind
	settings Settings
	devices  []v1alpha1.Device
	node     Node
}

func newGrant(granted []v1alpha1.Device, node Node) (grant, error) {
	if len(granted) == 0 {
		return grant{}, errors.New("granted devices: none, a container is answered for one device at least")
	}
	devices := slices.Clone(granted)
	slices.SortFunc(devices, func(a, b v1alpha1.Device) int { return cmp.Compare(a.ID, b.ID) })
	devices = slices.CompactFunc(devices, func(a, b v1alpha1.Device) bool { return a.ID == b.ID })
	first := &devices[0]
	g := grant{class: Class(first), kind: kindOf(first), settings: node.Vendors[first.Vendor], devices: devices, node: node}
	for i := range devices {
		d := &devices[i]
		if class := Class(d); class != g.class {
			return grant{}, fmt.Errorf("granted devices: %s is %s and %s is %s, a container is answered for one class at a time",
				devices[0].ID, g.class, d.ID, class)
		}
		if err := checkPaths(d, node.Files); err != nil {
			return grant{}, err
		}
	}
	return g, g.checkSeparable()
}

// paths are the device nodes of all devices, each once, sorted.
func (g grant) paths() []string {
	var paths []string
	for i := range g.devices {
		paths = append(paths, g.devices[i].Paths...)
	}
	return eachOnce(paths)
}

// eachOnce sorts texts, and leaves out what is repeated.
func eachOnce(texts []string) []string {
	slices.Sort(texts)
	return slices.Compact(texts)
}

// others are the node's devices that were not granted, in order of their ids.
func (g grant) others() []*v1alpha1.Device {
	var others []*v1alpha1.Device
	for i := range g.node.Devices {
		d := &g.node.Devices[i]
		if !slices.ContainsFunc(g.devices, func(granted v1alpha1.Device) bool { return granted.ID == d.ID }) {
			others = append(others, d)
		}
	}
	slices.SortFunc(others, func(a, b *v1alpha1.Device) int { return cmp.Compare(a.ID, b.ID) })
	return others
}
