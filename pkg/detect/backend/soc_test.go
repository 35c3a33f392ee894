package backend_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/mediatek"
	"github.com/rankwright/rankwright/pkg/detect/samsung"
	"github.com/rankwright/rankwright/test/recordings/compose"
	"github.com/rankwright/rankwright/test/recordings/compose/probe"
)

// tree is a composed file tree with what drivers of NPUs add to one.
type tree struct{ compose.Tree }

// TestSoCNPUs lists `id paths health` of each NPU.
func TestSoCNPUs(t *testing.T) {
	for name, test := range map[string]struct {
		backend backend.Backend
		compose func(s tree)
		want    []string
	}{
		"Exynos": {samsung.NPU(), func(s tree) {
			s.Machine("samsung,exynos2100")
			npu := s.Platform("npu_exynos", "exynos-npu", "samsung,exynos-npu")
			s.Platform("npu_exynos_core", "exynos-npu-core", "samsung,exynos-npu-core")
			dsp := s.Platform("17c00000.dsp", "exynos-dsp", "samsung,exynos-dsp")
			s.vertex(npu, "vertex10")
			s.vertex(dsp, "vertex11")
		}, []string{"samsung-npu_exynos [/dev/vertex10] Healthy Opened"}},
		"Exynos with two NPUs": {samsung.NPU(), func(s tree) {
			s.Machine("samsung, UNIVERSAL2400", "samsung,exynos2400")
			s.vertex(s.Platform("npu_exynos@1", "exynos-npu", "samsung,exynos-npu"), "vertex10")
			s.Platform("npu_exynos@0", "", "samsung,exynos-npu")
		}, []string{"samsung-npu_exynos_0 [] Unknown DriverMissing", "samsung-npu_exynos_1 [/dev/vertex10] Healthy Opened"}},
		"an Exynos without an NPU": {samsung.NPU(), func(s tree) {
			s.Machine("samsung,exynos5433")
			s.Platform("14ac0000.gpu", "panfrost", "samsung,exynos5433-mali", "arm,mali-t760")
		}, nil},
		"another vendor's machine with the same string": {samsung.NPU(), func(s tree) {
			s.Machine("google,gs101")
			s.Platform("npu_exynos", "exynos-npu", "samsung,exynos-npu")
		}, nil},
		"no device tree": {samsung.NPU(), func(s tree) { s.Platform("npu_exynos", "exynos-npu", "samsung,exynos-npu") }, nil},
		"Genio": {mediatek.APU(), func(s tree) {
			s.Machine("mediatek,mt8390-evk", "mediatek,mt8390", "mediatek,mt8188")
			s.Platform("19001000.apusys_rv", "mtk-apu", "mediatek,mt8188-apusys-rv")
			s.Platform("190e1000.mailbox", "mtk-apu-mailbox", "mediatek,mt8188-apu-mailbox")
			s.apusys()
		}, []string{"mediatek-19001000.apusys_rv [/dev/apusys] Healthy Opened"}},
		"a SoC with two APUs": {mediatek.APU(), func(s tree) {
			s.Machine("mediatek,mt8183-pumpkin", "mediatek,mt8183")
			s.Platform("19100000.apu", "mtk_apu-rproc", "mediatek,mt8183-apu")
			s.Platform("19200000.apu", "mtk_apu-rproc", "mediatek,mt8183-apu")
		}, []string{"mediatek-19100000.apu [] Unknown DeviceNodeMissing", "mediatek-19200000.apu [] Unknown DeviceNodeMissing"}},
		"a phone": {mediatek.APU(), func(s tree) {
			s.Machine("mediatek,MT6885")
			s.Platform("19034000.mdla", "mdla", "mediatek, mt6885-mdla")
			s.apusys()
		}, []string{"mediatek-19034000.mdla [/dev/apusys] Healthy Opened"}},
		"a phone whose engine is a part of the APU": {mediatek.APU(), func(s tree) {
			s.Machine("mediatek,MT6983")
			s.Platform("19001000.apusys_rv", "apusys_rv", "mediatek,mt6983-apusys-rv")
			s.Platform("soc:mdla", "mdla", "mediatek, mdla-rv")
			s.apusys()
		}, []string{"mediatek-19001000.apusys_rv [/dev/apusys] Healthy Opened"}},
		"a Chromebook": {mediatek.APU(), func(s tree) {
			s.Machine("google,spherion-rev0", "google,spherion", "mediatek,mt8192")
			s.Platform("19001000.apusys_rv", "", "mediatek,mt8192-apusys-rv")
		}, []string{"mediatek-19001000.apusys_rv [] Unknown DriverMissing"}},
		"a node without a device": {mediatek.APU(), func(s tree) { s.Machine("mediatek,mt8188"); s.apusys() }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := tree{compose.NewTree(t)}
			test.compose(s)
			var got []string
			for _, d := range probe.Detect(t, s.Host(), test.backend).Devices {
				if d.Memory != nil || d.Performance != nil {
					t.Errorf("%s: got %+v %+v", d.ID, d.Memory, d.Performance)
				}
				health := strings.TrimSpace(string(d.Health.State) + " " + d.Health.Reason)
				got = append(got, string(d.ID)+" ["+strings.Join(d.Paths, " ")+"] "+health)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// vertex adds a device node of Samsung's class to the device at the folder.
func (s tree) vertex(folder, name string) {
	s.Helper()
	member := folder + "/vision4linux/" + name
	s.File(member+"/uevent", "DEVNAME="+name+"\n")
	s.Link(member+"/device", folder)
	s.Link("/sys/class/vision4linux/"+name, member)
	s.Must(s.AddDevice("/dev/" + name))
}

func (s tree) apusys() {
	s.Helper()
	s.File("/sys/devices/virtual/misc/apusys/uevent", "DEVNAME=apusys\n")
	s.Link("/sys/class/misc/apusys", "/sys/devices/virtual/misc/apusys")
	s.Must(s.AddDevice("/dev/apusys"))
}
