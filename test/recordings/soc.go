package main

import (
	"fmt"
	"path"
	"strings"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

// armMachine is a machine with an Arm processor and a device tree.
type armMachine struct {
	// Compatible lists what the machine is compatible with by its device tree, board first. Part is the part number of the cores as
	// /proc/cpuinfo has it.
	Compatible       []string
	Model, Part      string
	Implementer      string
	Cores, MemoryMiB int
	Kernel, OS       string
}

func addArm(h *compose.Host, m armMachine) {
	var info strings.Builder
	for core := range m.Cores {
		fmt.Fprintf(&info, "processor\t: %d\nBogoMIPS\t: 48.00\nCPU implementer\t: %s\nCPU architecture: 8\nCPU variant\t: 0x1\nCPU part\t: %s\nCPU revision\t: 1\n\n",
			core, m.Implementer, m.Part)
		h.Files(fmt.Sprintf("/sys/devices/system/cpu/cpu%d/topology", core), map[string]string{
			"physical_package_id": "0", "core_id": fmt.Sprint(core),
		})
	}
	h.File("/proc/cpuinfo", info.String())
	h.File("/proc/meminfo", fmt.Sprintf("MemTotal:       %d kB\nMemFree:        %d kB\n", m.MemoryMiB<<10, m.MemoryMiB<<9))
	h.Files("/proc/sys/kernel", map[string]string{"osrelease": m.Kernel, "arch": "aarch64"})
	h.File("/etc/os-release", fmt.Sprintf("PRETTY_NAME=%q", m.OS))
	h.File("/proc/1/cgroup", "0::/init.scope")
	h.File("/proc/self/cgroup", "0::/user.slice")
	h.Link("/proc/device-tree", "/sys/firmware/devicetree/base")
	addTree(h, "", m.Compatible)
	h.Keep(h.AddFile("/sys/firmware/devicetree/base/model", m.Model+"\x00"))
}

// addTree adds a node of the device tree with its list of strings, each of which ends in NUL.
func addTree(h *compose.Host, node string, compatible []string) {
	h.Keep(h.AddFile(path.Join("/sys/firmware/devicetree/base", node, "compatible"), strings.Join(compatible, "\x00")+"\x00"))
}

// platform is a device that the device tree describes.
type platform struct {
	// Place is below /sys/devices/platform, Node below the device tree's root.
	Place, Node string
	Compatible  []string
	Driver      string
}

// Folder returns the device's folder in sysfs.
func (p platform) Folder() string { return path.Join("/sys/devices/platform", p.Place) }

func addPlatform(h *compose.Host, devices ...platform) {
	for _, p := range devices {
		addTree(h, p.Node, p.Compatible)
		up := strings.Repeat("../", strings.Count(p.Place, "/")+3)
		h.Link(path.Join(p.Folder(), "of_node"), up+"firmware/devicetree/base/"+p.Node)
		if p.Driver != "" {
			h.Folder("/sys/bus/platform/drivers/" + p.Driver)
			h.Link(path.Join(p.Folder(), "driver"), up+"bus/platform/drivers/"+p.Driver)
		}
		h.Link("/sys/bus/platform/devices/"+path.Base(p.Place), "../../../devices/platform/"+p.Place)
	}
}
