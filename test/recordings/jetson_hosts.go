package main

import (
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

func init() {
	recordings["jetson-agx-orin-64"] = orinHost
	recordings["jetson-agx-xavier-32"] = xavierHost
}

const jetsonSources = `
Device tree names, part numbers, device nodes and the version file are those of NVIDIA's Jetson Linux developer guides
(releases 32.7, 36 and 38.2) and of Linux's bindings; the GPU's platform device, its load and the thermal zones are what
users of the modules report (jetson_stats issues 360 and 885). The uevent's form is the kernel's; the total memory is a
plausible one. Nothing was captured from a module.`

// jetson is a module with its board.
type jetson struct {
	model      string
	compatible []string
	machine    compose.Machine
	core       compose.MIDR
	// release is the first line of /etc/nv_tegra_release.
	release string
	// parent and name are the GPU's folder under /sys/devices/platform and its name there.
	parent, name, chip string
	thermal            string
	nodes              []string
}

func (j jetson) host(readme string) *compose.Host {
	h := compose.New(readme + "\n" + jetsonSources)
	addSoC(h, j.machine, j.core, j.model, j.compatible...)
	h.File("/etc/nv_tegra_release", j.release)

	folder := "/sys/devices/platform/" + j.parent + j.name
	_, node, _ := strings.Cut(j.name, ".")
	h.File(folder+"/uevent", fmt.Sprintf("DRIVER=gk20a\nOF_NAME=%s\nOF_COMPATIBLE_0=%s\nOF_COMPATIBLE_N=1\nMODALIAS=of:N%sT(null)C%s", node, j.chip, node, j.chip))
	h.File(folder+"/load", "125")
	h.Link("/sys/bus/platform/devices/"+j.name, "../../../devices/platform/"+j.parent+j.name)
	for _, other := range []string{"13e00000.host1x", "c150000.hsp", "serial8250"} {
		h.Folder("/sys/devices/platform/" + other)
		h.Link("/sys/bus/platform/devices/"+other, "../../../devices/platform/"+other)
	}
	for i, zone := range []string{strings.Replace(strings.Replace(j.thermal, "gpu", "cpu", 1), "GPU", "CPU", 1), j.thermal} {
		h.Files(fmt.Sprintf("/sys/class/thermal/thermal_zone%d", i), map[string]string{"type": zone, "temp": fmt.Sprint(48000 + 500*i)})
	}
	for _, name := range j.nodes {
		h.Device(name)
	}
	return h
}

func orinHost() *compose.Host {
	nodes := []string{"/dev/nvmap"}
	for _, name := range []string{"as", "channel", "ctrl", "ctxsw", "dbg", "prof", "sched", "tsg"} {
		nodes = append(nodes, "/dev/nvgpu/igpu0/"+name)
	}
	return jetson{
		model:      "NVIDIA Jetson AGX Orin Developer Kit",
		compatible: []string{"nvidia,p3737-0000+p3701-0005", "nvidia,p3701-0005", "nvidia,tegra234"},
		machine:    compose.Machine{CoresPerSocket: 12, MemoryMiB: 62841, Kernel: "5.15.148-tegra", OS: "Ubuntu 22.04.5 LTS"},
		core:       compose.MIDR{Implementer: "0x41", Part: "0xd42"},
		release:    "# R36 (release), REVISION: 4.3, GCID: 38968081, BOARD: generic, EABI: aarch64, DATE: Wed Jan  8 01:49:37 UTC 2025",
		parent:     "bus@0/", name: "17000000.gpu", chip: "nvidia,ga10b", thermal: "gpu-thermal", nodes: nodes,
	}.host("A Jetson AGX Orin 64GB developer kit with Jetson Linux 36.4.3.")
}

func xavierHost() *compose.Host {
	return jetson{
		model:      "Jetson-AGX",
		compatible: []string{"nvidia,p2972-0000", "nvidia,tegra194"},
		machine:    compose.Machine{CoresPerSocket: 8, MemoryMiB: 31171, Kernel: "5.10.120-tegra", OS: "Ubuntu 20.04.6 LTS"},
		core:       compose.MIDR{Implementer: "0x4e", Part: "0x004"},
		release:    "# R35 (release), REVISION: 4.1, GCID: 33958178, BOARD: t186ref, EABI: aarch64, DATE: Tue Aug  1 19:57:35 UTC 2023",
		name:       "17000000.gv11b", chip: "nvidia,gv11b", thermal: "GPU-therm",
		nodes: []string{"/dev/nvmap", "/dev/nvhost-as-gpu", "/dev/nvhost-ctrl-gpu", "/dev/nvhost-gpu", "/dev/nvhost-tsg-gpu"},
	}.host("A Jetson AGX Xavier with Jetson Linux 35.4.1, whose device tree names the board and not the module.")
}
