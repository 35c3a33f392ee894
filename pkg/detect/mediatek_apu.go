package detect

import (
	"regexp"
	"slices"
)

// MediaTekAPU finds the AI processors of MediaTek's SoCs by their nodes in the device tree, on machines that are
// MediaTek's. It runs no command. They are described in two ways: as an APU (Genio boards, Chromebooks), of which a SoC can
// have two, or as the deep-learning engine (MDLA) of a phone's kernel. Where both are there, the engine is a part of the
// APU and not listed again. All are reached by the one node /dev/apusys, and work in the host's memory.
//
// Sources: the patches of MediaTek and BayLibre to Linux (mtk_apu_rproc, apusys-rv of MT8188, MT8192 and MT8195), and
// drivers/misc/mediatek/apusys of published phone kernels. No MediaTek machine was at hand.
func MediaTekAPU() Backend {
	return &socNPU{
		name: "mediatek-apu", vendor: "mediatek", product: "MediaTek APU",
		pattern: func(compatible string) bool {
			return apuCompatible.MatchString(compatible) || mdlaCompatible.MatchString(compatible)
		},
		pick:    wholeAPUs,
		classes: []string{"accel"},
		shared:  []string{"/sys/class/misc/apusys", "/sys/class/apusys/apusys", "/sys/class/apusysdrv/apusys"},
		load:    "use MediaTek's kernel, which has a driver of the APU",
	}
}

var (
	apuCompatible  = regexp.MustCompile(`^mediatek,mt\d{4}-apu(sys-rv)?$`)
	mdlaCompatible = regexp.MustCompile(`^mediatek,(mt\d{4}-mdla|mdla-rv)$`)
)

// wholeAPUs leaves out engines where their APUs are there.
func wholeAPUs(devices []platformDevice) []platformDevice {
	var whole []platformDevice
	for _, device := range devices {
		if slices.ContainsFunc(device.compatible, apuCompatible.MatchString) {
			whole = append(whole, device)
		}
	}
	if len(whole) > 0 {
		return whole
	}
	return devices
}
