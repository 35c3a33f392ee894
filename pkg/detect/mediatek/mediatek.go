// Package mediatek finds the AI processors in MediaTek's systems on a chip.
package mediatek

import (
	"regexp"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/sysfs"
)

// APU finds the AI processors of MediaTek's SoCs by their nodes in the device tree, on machines that are
// MediaTek's. It runs no command. They are described in two ways: as an APU (Genio boards, Chromebooks), of which a SoC can
// have two, or as the deep-learning engine (MDLA) of a phone's kernel. Where both are there, the engine is a part of the
// APU and not listed again. All are reached by the one node /dev/apusys, and work in the host's memory.
//
// Sources: the patches of MediaTek and BayLibre to Linux (mtk_apu_rproc, apusys-rv of MT8188, MT8192 and MT8195), and
// drivers/misc/mediatek/apusys of published phone kernels. No MediaTek machine was at hand.
func APU() backend.Backend {
	return backend.NewSoC(backend.SoC{
		Kind:    backend.Kind{Backend: "mediatek-apu", Vendor: "mediatek", Family: v1alpha1.FamilyNPU},
		Product: "MediaTek APU",
		Pattern: func(compatible string) bool {
			return apuCompatible.MatchString(compatible) || mdlaCompatible.MatchString(compatible)
		},
		Pick:    wholeAPUs,
		Classes: []string{"accel"},
		Shared:  []string{"/sys/class/misc/apusys", "/sys/class/apusys/apusys", "/sys/class/apusysdrv/apusys"},
		Load:    "use MediaTek's kernel, which has a driver of the APU",
	})
}

var (
	apuCompatible  = regexp.MustCompile(`^mediatek,mt\d{4}-apu(sys-rv)?$`)
	mdlaCompatible = regexp.MustCompile(`^mediatek,(mt\d{4}-mdla|mdla-rv)$`)
)

// wholeAPUs leaves out engines where their APUs are there.
func wholeAPUs(devices []sysfs.PlatformDevice) []sysfs.PlatformDevice {
	var whole []sysfs.PlatformDevice
	for _, device := range devices {
		if slices.ContainsFunc(device.Compatible, apuCompatible.MatchString) {
			whole = append(whole, device)
		}
	}
	if len(whole) > 0 {
		return whole
	}
	return devices
}
