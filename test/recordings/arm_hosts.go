package main

import (
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

// armBoard is a host with an Arm processor: its kernel prints no model, and sockets and cores are in sysfs only.
type armBoard struct {
	// part is MIDR_EL1's, of the implementer; both as /proc/cpuinfo has them.
	implementer, part string
	cores, sockets    int
	// nodes is the number of NUMA nodes; 0 where the kernel has none.
	nodes      int
	memoryGiB  int
	kernel, os string
	dmi        map[string]string
}

func (b armBoard) add(h *compose.Host) {
	var info strings.Builder
	for cpu := range b.cores {
		fmt.Fprintf(&info, "processor\t: %d\nBogoMIPS\t: 200.00\nCPU implementer\t: %s\nCPU architecture: 8\nCPU variant\t: 0x1\nCPU part\t: %s\nCPU revision\t: 0\n\n",
			cpu, b.implementer, b.part)
		h.Files(fmt.Sprintf("/sys/devices/system/cpu/cpu%d/topology", cpu), map[string]string{
			"physical_package_id": fmt.Sprint(cpu / (b.cores / b.sockets)), "core_id": fmt.Sprint(cpu % (b.cores / b.sockets)),
		})
	}
	h.File("/proc/cpuinfo", info.String())
	h.File("/proc/meminfo", fmt.Sprintf("MemTotal:       %d kB\nMemFree:        %d kB\n", b.memoryGiB<<20, b.memoryGiB<<19))
	for node := range b.nodes {
		first := node * b.cores / b.nodes
		h.Files(fmt.Sprintf("/sys/devices/system/node/node%d", node), map[string]string{
			"cpulist": fmt.Sprintf("%d-%d", first, first+b.cores/b.nodes-1),
			"meminfo": fmt.Sprintf("Node %d MemTotal:       %d kB", node, b.memoryGiB<<20/b.nodes),
		})
	}
	h.Files("/proc/sys/kernel", map[string]string{"osrelease": b.kernel, "arch": "aarch64"})
	h.File("/etc/os-release", fmt.Sprintf("PRETTY_NAME=%q", b.os))
	h.File("/proc/1/cgroup", "0::/init.scope")
	h.File("/proc/self/cgroup", "0::/user.slice")
	h.Files("/sys/class/dmi/id", b.dmi)
}

// addClassDevice adds a device of a class below a function, with its node where it has one and its files.
func addClassDevice(h *compose.Host, f compose.Function, class, name, node string, files map[string]string) {
	own := f.Folder() + "/" + class + "/" + name
	h.Link(own+"/device", "../../../"+f.Address())
	h.Link("/sys/class/"+class+"/"+name, "../.."+strings.TrimPrefix(own, "/sys"))
	h.Files(own, files)
	if node != "" {
		h.File(own+"/uevent", "MAJOR=511\nMINOR=0\nDEVNAME="+node)
		h.Device("/dev/" + node)
	}
}
