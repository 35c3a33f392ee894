package main

import (
	"github.com/rankwright/rankwright/test/recordings/compose"
)

func init() {
	recordings["mediatek-genio-700"] = genioHost
	recordings["samsung-exynos-2100"] = exynosHost
}

// genioHost has an APU as the vendor's kernel describes it.
func genioHost() *compose.Host {
	h := compose.New(`
A board MediaTek Genio 700 EVK with the vendor's kernel and its APU.

The board's strings are those of Linux (mt8390-genio-700-evk.dts); the APU's node and driver those of MediaTek's patches to
it (apusys-rv of MT8188 and MT8195); the device node that of published kernels (drivers/misc/mediatek/apusys). Addresses and
versions are made up. Nothing of it was seen on a board.`)
	addSoC(h, compose.Machine{
		Sockets: 1, CoresPerSocket: 8, MemoryMiB: 7808, Kernel: "5.15.47-mtk+gd011e19cfc68", OS: "Rity Demo Layer 23.2-release (kirkstone)",
	}, compose.CortexA55, "MediaTek Genio-700 EVK", "mediatek,mt8390-evk", "mediatek,mt8390", "mediatek,mt8188")
	addPlatform(h,
		platform{Place: "soc/19001000.apusys_rv", Node: "soc/apusys_rv@19001000", Compatible: []string{"mediatek,mt8188-apusys-rv"}, Driver: "mtk-apu"},
		platform{Place: "soc/13000000.mali", Node: "soc/gpu@13000000", Compatible: []string{"mediatek,mt8188-mali", "arm,mali-valhall-jm"}, Driver: "mali"},
		platform{Place: "soc/190e1000.apu-mailbox", Node: "soc/mailbox@19000000", Compatible: []string{"mediatek,mt8188-apu-mailbox"}, Driver: "mtk-apu-mailbox"},
	)
	h.File("/sys/devices/virtual/misc/apusys/uevent", "MAJOR=10\nMINOR=121\nDEVNAME=apusys")
	h.Link("/sys/class/misc/apusys", "../../devices/virtual/misc/apusys")
	h.Device("/dev/apusys")
	return h
}

// exynosHost has an NPU with two vertex devices, of which the second is a DSP's.
func exynosHost() *compose.Host {
	h := compose.New(`
A machine with a Samsung Exynos 2100, the vendor's kernel and its NPU.

The NPU's strings and driver are those of Samsung's published kernels (drivers/vision); its folder, class and device node those
that a user of such a phone published. The second vertex device, the board's strings and versions are made up.`)
	addSoC(h, compose.Machine{Sockets: 1, CoresPerSocket: 8, MemoryGiB: 11, Kernel: "5.4.242-android11", OS: "Android 14"},
		compose.CortexA55, "Samsung UNIVERSAL2100 board based on Exynos2100", "samsung, UNIVERSAL2100", "samsung,exynos2100")
	addPlatform(h,
		platform{Place: "npu_exynos", Node: "npu_exynos", Compatible: []string{"samsung,exynos-npu"}, Driver: "exynos-npu"},
		platform{Place: "npu_exynos_core", Node: "npu_exynos/core", Compatible: []string{"samsung,exynos-npu-core"}, Driver: "exynos-npu-core"},
		platform{Place: "17c00000.dsp", Node: "dsp@17c00000", Compatible: []string{"samsung,exynos-dsp"}, Driver: "exynos-dsp"},
	)
	for place, name := range map[string]string{"npu_exynos": "vertex10", "17c00000.dsp": "vertex11"} {
		member := "/sys/devices/platform/" + place + "/vision4linux/" + name
		h.File(member+"/uevent", "MAJOR=82\nDEVNAME="+name)
		h.Link(member+"/device", "../../../"+place)
		h.Link("/sys/class/vision4linux/"+name, "../../devices/platform/"+place+"/vision4linux/"+name)
		h.Device("/dev/" + name)
	}
	return h
}
