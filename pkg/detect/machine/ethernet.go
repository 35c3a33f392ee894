package machine

import (
	"math"
	"path"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

const netClass = "/sys/class/net"

// arphrdEther is the hardware type of Ethernet (linux/if_arp.h); wireless interfaces have it, too.
const arphrdEther = 1

// addEthernet lists the interfaces of Ethernet hardware whose port is not listed. A node may have hundreds of virtual
// ones: of those only the link is read.
func (n *network) addEthernet() error {
	names, err := host.ReadNames(n.files, netClass)
	if err != nil {
		return err
	}
	for _, name := range names {
		target, err := n.files.ReadLink(path.Join(netClass, name))
		if err != nil || strings.Contains(target, "/devices/virtual/") || n.used[name] {
			continue
		}
		a, ok := n.hardware(path.Join(netClass, name))
		if !ok || !n.isEthernetPort(name) {
			continue
		}
		nic := v1alpha1.NIC{
			Name: name, Kind: v1alpha1.NICEthernet, Interfaces: []string{name}, Driver: a.Driver, NUMANode: a.Numa, PCI: a.Pci,
		}
		nic.Up, nic.Gbps = n.readLink(name)
		n.nics = append(n.nics, nic)
	}
	return nil
}

// isEthernetPort says whether an interface of hardware is a wired port. One that rides on another (`lower_eth1`) is not:
// Hyper-V's interface stands above the virtual function that carries its traffic.
func (n *network) isEthernetPort(name string) bool {
	folder := path.Join(netClass, name)
	kind, _, err := host.ReadInt(n.files, path.Join(folder, "type"))
	if err != nil || kind != arphrdEther || n.isRepresentor(name) {
		return false
	}
	names, err := host.ReadNames(n.files, folder)
	return err == nil && !slices.ContainsFunc(names, func(entry string) bool {
		return entry == "wireless" || entry == "phy80211" || strings.HasPrefix(entry, "lower_")
	})
}

// readLink reads whether an interface has a link, and its rate in Gbps. The kernel answers with an error where the
// interface is down, and with -1 where the driver does not know the rate (sysfs-class-net).
func (n *network) readLink(name string) (up bool, gbps int32) {
	carrier, _, err := host.ReadInt(n.files, path.Join(netClass, name, "carrier"))
	if err != nil || carrier != 1 {
		return false, 0
	}
	mbps, _, err := host.ReadInt(n.files, path.Join(netClass, name, "speed"))
	if err != nil || mbps < 0 || mbps/1000 > math.MaxInt16 {
		return true, 0
	}
	return true, int32(mbps / 1000)
}
