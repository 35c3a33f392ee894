package compose

import (
	"cmp"
	"fmt"
	"strings"
)

// Machine is a host apart from its accelerators. Threads and memory are spread evenly over the NUMA nodes.
type Machine struct {
	Model          string // of the processor, as /proc/cpuinfo has it
	VendorID       string // GenuineIntel, AuthenticAMD
	Sockets        int
	CoresPerSocket int
	ThreadsPerCore int
	// NodesPerSocket is the number of NUMA nodes in a socket; 0 means 1, and NoNUMA that the kernel has none.
	NodesPerSocket int
	MemoryGiB      int
	// MemoryMiB is the memory where it is no whole number of GiB.
	MemoryMiB int
	// AvailableGiB is what the kernel says can be had without swapping; 0 where it says nothing.
	AvailableGiB int
	Kernel, OS   string
	// DMI has the contents of the files below /sys/class/dmi/id, by name.
	DMI map[string]string
}

// NoNUMA is the number of NUMA nodes in a socket where the kernel has no NUMA.
const NoNUMA = -1

func (m Machine) memoryKiB() int { return cmp.Or(m.MemoryMiB, m.MemoryGiB<<10) << 10 }

// Machine adds processors, memory, NUMA nodes, system and firmware. CPUs are numbered as x86 kernels do: the first
// thread of every core, socket by socket, then the second threads.
func (h *Host) Machine(m Machine) {
	cores := m.Sockets * m.CoresPerSocket
	var info strings.Builder
	for thread := range cores * m.ThreadsPerCore {
		core := thread % cores
		fmt.Fprintf(&info, "processor\t: %d\nvendor_id\t: %s\ncpu family\t: 6\nmodel name\t: %s\nphysical id\t: %d\nsiblings\t: %d\ncore id\t\t: %d\ncpu cores\t: %d\n\n",
			thread, m.VendorID, m.Model, core/m.CoresPerSocket, m.CoresPerSocket*m.ThreadsPerCore, core%m.CoresPerSocket, m.CoresPerSocket)
	}
	h.File("/proc/cpuinfo", info.String())
	h.meminfo(m)
	h.nodes(m)
	h.system(m, "x86_64")
}

// meminfo adds the memory as a whole.
func (h *Host) meminfo(m Machine) {
	text := fmt.Sprintf("MemTotal:       %d kB\nMemFree:        %d kB\n", m.memoryKiB(), m.memoryKiB()/2)
	if m.AvailableGiB > 0 {
		text += fmt.Sprintf("MemAvailable:   %d kB\n", m.AvailableGiB<<20)
	}
	h.File("/proc/meminfo", text)
}

// nodes adds the NUMA nodes.
func (h *Host) nodes(m Machine) {
	cores := m.Sockets * m.CoresPerSocket
	nodes := m.Sockets * max(0, cmp.Or(m.NodesPerSocket, 1))
	for node := range nodes {
		var lists []string
		for sibling := range m.ThreadsPerCore {
			first := sibling*cores + node*cores/nodes
			lists = append(lists, fmt.Sprintf("%d-%d", first, first+cores/nodes-1))
		}
		h.Files(fmt.Sprintf("/sys/devices/system/node/node%d", node), map[string]string{
			"cpulist": strings.Join(lists, ","),
			"meminfo": fmt.Sprintf("Node %d MemTotal:       %d kB", node, m.memoryKiB()/nodes),
		})
	}
}

// system adds what names the kernel, the distribution and the firmware.
func (h *Host) system(m Machine, arch string) {
	h.Files("/proc/sys/kernel", map[string]string{"osrelease": m.Kernel, "arch": arch})
	h.File("/etc/os-release", fmt.Sprintf("PRETTY_NAME=%q", m.OS))
	h.File("/proc/1/cgroup", "0::/init.scope")
	h.File("/proc/self/cgroup", "0::/user.slice")
	h.Files("/sys/class/dmi/id", m.DMI)
}
