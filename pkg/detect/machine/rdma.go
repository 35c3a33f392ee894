package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
)

const rdmaClass = "/sys/class/infiniband"

// maxRDMAPorts bounds the ports of one device: a switchdev driver shows one for each representor.
const maxRDMAPorts = 256

// rdmaDevice is a member of the kernel's class infiniband, which has RDMA devices of every kind
// (Documentation/ABI/stable/sysfs-class-infiniband).
type rdmaDevice struct {
	name     string
	folder   string
	nodeType string
	pci.Attachment
	ports int
	// interfaces are the names of the network interfaces on the device's PCI function.
	interfaces []string
}

// addRDMA lists every port of every RDMA device.
func (n *network) addRDMA() error {
	names, err := host.ReadNames(n.files, rdmaClass)
	if err != nil {
		return err
	}
	var unread []error
	for _, name := range names {
		device := rdmaDevice{name: name, folder: path.Join(rdmaClass, name)}
		var ok bool
		// Soft RoCE names the interface that it runs over; older kernels show it below that interface's hardware.
		if device.Attachment, ok = n.hardware(device.folder); !ok || host.Exists(n.files, path.Join(device.folder, "parent")) {
			continue
		}
		unread = append(unread, n.addPorts(device))
	}
	return errors.Join(unread...)
}

func (n *network) addPorts(device rdmaDevice) error {
	ports, err := host.ReadNumbered(n.files, path.Join(device.folder, "ports"), "")
	if err != nil {
		return err
	}
	device.nodeType, _, _ = host.ReadText(n.files, path.Join(device.folder, "node_type"))
	device.interfaces, _ = host.ReadNames(n.files, path.Join(device.Folder, "net"))
	device.ports = len(ports)
	var unread []error
	for _, number := range ports[:min(len(ports), maxRDMAPorts)] {
		nic, ok, err := n.port(device, number)
		if !ok {
			continue
		}
		unread = append(unread, err)
		for _, name := range nic.Interfaces {
			n.used[name] = true
		}
		n.nics = append(n.nics, nic)
	}
	return errors.Join(unread...)
}

// port reads a port; ok is false where it stands for a virtual function.
func (n *network) port(device rdmaDevice, number int) (nic v1alpha1.NIC, ok bool, err error) {
	folder := path.Join(device.folder, "ports", strconv.Itoa(number))
	layer, _, _ := host.ReadText(n.files, path.Join(folder, "link_layer"))
	nic = v1alpha1.NIC{
		Name: fmt.Sprint(device.name, "/", number), Kind: rdmaKind(device, layer),
		Driver: device.Driver, NUMANode: device.Numa, PCI: device.Pci,
	}
	above := n.portInterface(folder)
	if above != "" && n.isRepresentor(above) {
		return nic, false, nil
	}
	nic.Interfaces = n.portInterfaces(device, above, number)
	if nic.Kind == v1alpha1.NICRoCE {
		nic.RoCEVersions = n.roceVersions(folder)
	}
	state, _, err := host.ReadText(n.files, path.Join(folder, "state"))
	if nic.Up = strings.HasPrefix(state, portActive); nic.Up {
		rate, _, _ := host.ReadText(n.files, path.Join(folder, "rate"))
		nic.Gbps = parseRate(rate)
	}
	return nic, true, err
}

// portActive is how the state of a port that carries traffic begins: `4: ACTIVE`.
const portActive = "4:"

// rdmaKind is what a port speaks, by its link layer and the type of its device (`1: CA`, `4: RNIC`, `7: unspecified`).
func rdmaKind(device rdmaDevice, layer string) string {
	switch {
	case device.Driver == "efa":
		return v1alpha1.NICEFA
	case layer == "InfiniBand":
		return v1alpha1.NICInfiniBand
	case strings.HasPrefix(device.nodeType, "4:"):
		return v1alpha1.NICIWARP
	case layer == "Ethernet" && strings.HasPrefix(device.nodeType, "1:"):
		return v1alpha1.NICRoCE
	default:
		return v1alpha1.NICEthernet
	}
}

// portInterface is the interface of a port's first address: the port's own, or the bond that it is a member of. Only
// Ethernet has one.
func (n *network) portInterface(folder string) string {
	name, _, err := host.ReadText(n.files, path.Join(folder, "gid_attrs/ndevs/0"))
	if err != nil || strings.Contains(name, "/") {
		return ""
	}
	return name
}

// portInterfaces returns the network interfaces of a port, sorted: above, with its members if it is a bond, and the device's
// interfaces that name the port (dev_port counts from 0, number from 1), or all of them where the device has one port.
func (n *network) portInterfaces(device rdmaDevice, above string, number int) []string {
	found := map[string]bool{}
	if above != "" {
		found[above] = true
		members, _, _ := host.ReadText(n.files, path.Join(netClass, above, "bonding/slaves"))
		for _, member := range strings.Fields(members) {
			found[member] = true
		}
	}
	for _, name := range device.interfaces {
		if n.isRepresentor(name) {
			continue
		}
		port, _, err := host.ReadInt(n.files, path.Join(netClass, name, "dev_port"))
		if device.ports == 1 || err == nil && port == int64(number)-1 {
			found[name] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// gidTypes is by the text of gid_attrs/types.
var gidTypes = map[string]string{"IB/RoCE v1": "v1", "RoCE v2": "v2"}

// maxGIDs is how many of a port's addresses are looked at: drivers keep one of each version first.
const maxGIDs = 8

func (n *network) roceVersions(folder string) []string {
	versions := map[string]bool{}
	for i := 0; i < maxGIDs && len(versions) < len(gidTypes); i++ {
		text, ok, err := host.ReadText(n.files, path.Join(folder, "gid_attrs/types", strconv.Itoa(i)))
		if errors.Is(err, fs.ErrPermission) || !ok && err == nil {
			break
		}
		// An index without an address answers with an error.
		if version := gidTypes[text]; version != "" {
			versions[version] = true
		}
	}
	return slices.Sorted(maps.Keys(versions))
}

// parseRate reads `400 Gb/sec (4X NDR)` as 400, and `2.5 Gb/sec (1X SDR)` as 2.
func parseRate(text string) int32 {
	number, _, found := strings.Cut(text, " Gb/sec")
	rate, err := strconv.ParseFloat(number, 64)
	if err != nil || !found || !(rate >= 0 && rate <= math.MaxInt16) {
		return 0
	}
	return int32(rate)
}
