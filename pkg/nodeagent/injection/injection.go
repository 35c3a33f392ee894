// Package injection says what a container needs to see the devices it was granted, and no others.
package injection

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Mode is how a container gets its devices. No API tells what the runtime of a node supports, so it is set for each
// vendor, and the modes are never mixed.
type Mode string

// The modes: by names that the container runtime looks up in CDI specifications, or by device nodes and mounts.
const (
	CDI         Mode = "CDI"
	DeviceNodes Mode = "DeviceNodes"
)

// DeviceNode is a node of /dev to make in the container, with the kernel's cgroup permissions (`rw`).
type DeviceNode struct {
	HostPath, ContainerPath, Permissions string
}

// Mount is a file or folder of the host to mount in the container.
type Mount struct {
	HostPath, ContainerPath string
	ReadOnly                bool
}

// Answer is what a container needs.
type Answer struct {
	Environment map[string]string
	Devices     []DeviceNode
	Mounts      []Mount
	// CDIDevices are qualified names: vendor.com/class=name.
	CDIDevices []string
}

// For answers for the devices granted to one container, which are all of one vendor.
func For(mode Mode, granted []v1alpha1.Device) (Answer, error) {
	return Answer{}, fmt.Errorf("injection mode %q: not known, take %s or %s", mode, CDI, DeviceNodes)
}
