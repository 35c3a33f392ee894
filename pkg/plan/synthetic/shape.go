package synthetic

import (
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Shape is a kind of node.
type Shape struct {
	// Name is how the shape is asked for (`h100x8`).
	Name string
	// About says for people what a node has.
	About string
	// InstanceType is the provider's name for such a node.
	InstanceType string

	devices []slots
	links   link
	network network
	host    machine
	// rackNodes is how many nodes stand in a rack.
	rackNodes int
}

// Devices is the number of devices of a node.
func (s *Shape) Devices() int {
	n := 0
	for i := range s.devices {
		n += len(s.devices[i].addresses)
	}
	return n
}

// slots are the places of the devices of one product on the bus.
type slots struct {
	product   product
	bus       bus
	linkMTps  int32
	addresses []string
}

// bus is how devices are attached to their host bridges.
type bus int

const (
	// onRoot: on the root bus, as virtual machines show it.
	onRoot bus = iota
	// onPort: behind a root port of its own.
	onPort
	// onSwitch: behind a switch that a network port shares.
	onSwitch
)

// link is how the devices of a node are joined beyond PCIe; without a kind they are not.
type link struct {
	kind, name           string
	topology             v1alpha1.DomainTopology
	generation, links    int32
	deviceMBps, peerMBps int64
	// shape is the torus of a whole fabric, hostShape the torus of a node alone.
	shape, hostShape []int32
	// nodes is how many nodes a fabric joins; 0 where the link does not leave the node.
	nodes int
	// partial says that a fabric works with fewer nodes than it joins when whole.
	partial bool
}

// network is a node's ports.
type network struct {
	kind, name, driver string
	ports              int
	gbps               int32
}

// machine is what a node has beside its devices and ports.
type machine struct {
	cpu, architecture, cloud string
	sockets, cores           int32
	memoryGiB                int64
	disks                    int
	diskGiB                  int64
}

// Lookup returns the shape with a name. The error lists the names.
func Lookup(name string) (*Shape, error) {
	for i := range shapes {
		if shapes[i].Name == name {
			return &shapes[i], nil
		}
	}
	return nil, fmt.Errorf("shape %q is not known: use one of %s", name, strings.Join(Names(), ", "))
}

// Names returns the names of the shapes, sorted.
func Names() []string {
	names := make([]string, len(shapes))
	for i := range shapes {
		names[i] = shapes[i].Name
	}
	return names
}
