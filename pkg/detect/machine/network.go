package machine

import (
	"cmp"
	"context"
	"path"
	"regexp"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
)

// Network is the backend that lists the host's network ports: every port of every RDMA device (InfiniBand, RoCE, iWARP,
// EFA), and the Ethernet ports of hardware that does no RDMA. It lists no devices and runs no command.
//
// Ports of software (bridges, bonds, veth, soft RoCE), wireless ones and what a host has cut off for its guests (virtual
// functions, sub-functions and their representors) are not listed; a virtual function that was given to this host is.
func Network() backend.Backend { return backend.New("network", detectNetwork) }

func detectNetwork(_ context.Context, h *host.Host) (backend.Found, error) {
	functions, pciErr := pci.Functions(h)
	n := network{files: h.Files, places: pci.PlacesOf(functions), used: map[string]bool{}}
	rdmaErr := n.addRDMA()
	netErr := n.addEthernet()
	if err := cmp.Or(rdmaErr, netErr, pciErr); len(n.nics) == 0 && err != nil {
		return backend.Found{}, err
	}
	found := backend.Found{NICs: n.nics}
	found.Degrade(pciErr, rdmaErr, netErr)
	return found, nil
}

// network collects the ports of a host.
type network struct {
	files  host.Files
	places pci.Places
	nics   []v1alpha1.NIC
	// used are the interfaces of ports that are listed already.
	used map[string]bool
}

// hardware is attached for network devices; ok is false for what the host has cut off for its guests, too.
func (n *network) hardware(member string) (pci.Attachment, bool) {
	a, ok := pci.Attached(n.files, n.places, member)
	if !ok || strings.HasPrefix(a.Folder, "/sys/devices/virtual/") || subFunction.MatchString(path.Base(a.Folder)) {
		return a, false
	}
	_, err := n.files.ReadLink(path.Join(a.Folder, "physfn"))
	return a, err != nil
}

// subFunction is the auxiliary device of a sub-function (Documentation/networking/devlink/devlink-port.rst).
var subFunction = regexp.MustCompile(`\.sf\.\d+$`)

// representor is the name of a port of a NIC's embedded switch that stands for a virtual function or sub-function, or for
// the host of a SmartNIC (Documentation/networking/switchdev.rst); the switch's way out is p0, p1, ….
var representor = regexp.MustCompile(`^(c\d+)?pf\d+`)

func (n *network) isRepresentor(name string) bool {
	port, _, _ := host.ReadText(n.files, path.Join(netClass, name, "phys_port_name"))
	return representor.MatchString(port)
}
