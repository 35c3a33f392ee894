package main

import (
	"path"
	"strings"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

// addSoC adds a machine of one chip, which its device tree describes: model, and what it is compatible with, board first.
func addSoC(h *compose.Host, m compose.Machine, core compose.MIDR, model string, compatible ...string) {
	m.NodesPerSocket = compose.NoNUMA
	h.ArmMachine(m, core)
	h.Link("/proc/device-tree", "/sys/firmware/devicetree/base")
	addTree(h, "", compatible)
	h.Keep(h.AddFile("/sys/firmware/devicetree/base/model", model+"\x00"))
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
