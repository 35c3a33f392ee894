package compose

import (
	"fmt"
	"path"
	"strings"
)

// Port is a port of an RDMA device as the kernel's class infiniband shows it.
type Port struct {
	// Layer is the link layer: InfiniBand, Ethernet, Unknown.
	Layer string
	// Rate is as the kernel prints it: `400 Gb/sec (4X NDR)`.
	Rate string
	Down bool
	// GIDs are the types of the port's first addresses: `IB/RoCE v1`, `RoCE v2`.
	GIDs []string
	// Interface carries the first address; only Ethernet has one.
	Interface string
}

// NDR returns a port of InfiniBand at 400 Gb/s.
func NDR() Port {
	return Port{Layer: "InfiniBand", Rate: "400 Gb/sec (4X NDR)", GIDs: []string{"IB/RoCE v1"}}
}

// RoCE400 is a port of the interface that speaks both versions of RoCE.
func RoCE400(name string) Port {
	return Port{Layer: "Ethernet", Rate: "400 Gb/sec (4X NDR)", GIDs: []string{"IB/RoCE v1", "RoCE v2"}, Interface: name}
}

// RDMA adds an RDMA device of the hardware at a folder, with ports from 1 on; nodeType is `1: CA`, `4: RNIC`, ….
func (h *Host) RDMA(folder, name, nodeType string, ports ...Port) {
	device := path.Join(folder, "infiniband", name)
	h.Member("infiniband", device)
	h.File(device+"/node_type", nodeType)
	for i, p := range ports {
		state, phys := "4: ACTIVE", "5: LinkUp"
		if p.Down {
			state, phys = "1: DOWN", "3: Disabled"
		}
		port := fmt.Sprintf("%s/ports/%d", device, i+1)
		h.Files(port, map[string]string{"link_layer": p.Layer, "rate": p.Rate, "state": state, "phys_state": phys})
		for index, kind := range p.GIDs {
			h.File(fmt.Sprintf("%s/gid_attrs/types/%d", port, index), kind)
		}
		if p.Interface != "" {
			h.File(port+"/gid_attrs/ndevs/0", p.Interface)
		}
	}
}

// Interface is a network interface of hardware.
type Interface struct {
	Name string
	// Mbps is what the file speed says, in 10^6 bits a second; -1 where it is not known.
	Mbps int
	Down bool
	// Port is the number of the port of its device, from 0 on.
	Port int
	// Type is a hardware type of if_arp.h; 0 means Ethernet.
	Type int
	// Extra files in the interface's folder.
	Extra map[string]string
}

// Interface adds a network interface of the hardware at a folder. A file that the kernel refuses to read while the
// interface is down is left out.
func (h *Host) Interface(folder string, i Interface) {
	node := path.Join(folder, "net", i.Name)
	h.Member("net", node)
	kind := i.Type
	if kind == 0 {
		kind = 1
	}
	h.Files(node, map[string]string{"type": fmt.Sprint(kind), "dev_port": fmt.Sprint(i.Port), "operstate": "down"})
	if !i.Down {
		h.Files(node, map[string]string{"carrier": "1", "speed": fmt.Sprint(i.Mbps)})
	}
	h.Files(node, i.Extra)
}

// Software adds network interfaces without hardware: bridges, bonds, veth.
func (h *Host) Software(names ...string) {
	for _, name := range names {
		h.File("/sys/devices/virtual/net/"+name+"/type", "1")
		h.Link("/sys/class/net/"+name, "../../devices/virtual/net/"+name)
	}
}

// Member adds an entry of a class: a node in the folder of its kind below the hardware's.
func (h *Host) Member(class, node string) {
	h.Link("/sys/class/"+class+"/"+path.Base(node), "../.."+strings.TrimPrefix(node, "/sys"))
	h.Link(path.Join(node, "device"), "../../../"+path.Base(path.Dir(path.Dir(node))))
}
