package compose

import (
	"fmt"
	"strings"
)

// MIDR numbers the cores of an Arm processor as /proc/cpuinfo prints them (Linux, arch/arm64/include/asm/cputype.h).
type MIDR struct{ Implementer, Part string }

// Cores of several products: of NVIDIA's Grace, and of SoCs.
var (
	NeoverseV2 = MIDR{"0x41", "0xd4f"}
	CortexA55  = MIDR{"0x41", "0xd05"}
)

// ArmMachine adds what Machine adds, as kernels for Arm show it: no model, sockets and cores only in sysfs, one thread a
// core. A machine without sockets is one whose kernel does not show them.
func (h *Host) ArmMachine(m Machine, core MIDR) {
	m.ThreadsPerCore = 1
	var info strings.Builder
	for cpu := range max(1, m.Sockets) * m.CoresPerSocket {
		fmt.Fprintf(&info, "processor\t: %d\nBogoMIPS\t: 2000.00\nCPU implementer\t: %s\nCPU architecture: 8\nCPU variant\t: 0x0\nCPU part\t: %s\nCPU revision\t: 0\n\n",
			cpu, core.Implementer, core.Part)
		if m.Sockets == 0 {
			continue
		}
		h.Files(fmt.Sprintf("/sys/devices/system/cpu/cpu%d/topology", cpu), map[string]string{
			"physical_package_id": fmt.Sprint(cpu / m.CoresPerSocket), "core_id": fmt.Sprint(cpu % m.CoresPerSocket),
		})
	}
	h.File("/proc/cpuinfo", info.String())
	h.meminfo(m)
	h.nodes(m)
	h.system(m, "aarch64")
}
