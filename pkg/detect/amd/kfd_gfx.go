package amd

import (
	"fmt"
	"strings"
)

// gfxTarget names the instruction set of a `gfx_target_version`, as compilers and ROCm do: two decimal digits each for
// minor and stepping, printed in hex (90010 is 9.0.10, gfx90a). 0, which a node without a GPU has, gives "".
func gfxTarget(version uint64) string {
	if version == 0 {
		return ""
	}
	return fmt.Sprintf("gfx%d%x%x", version/10000, version/100%100, version%100)
}

// instructionSet is what AMD tells its GPUs apart by as NVIDIA does by compute capability; empty where only the catalogue's word
// for the architecture is known.
func instructionSet(gfx string) string {
	if strings.HasPrefix(gfx, "gfx") {
		return gfx
	}
	return ""
}

// gfxByGC gives the instruction set of a graphics core by the version that amdgpu's ip_discovery tree has of it, for hosts where the KFD topology cannot be read. Source: the
// table of Linux, drivers/gpu/drm/amd/amdkfd/kfd_device.c.
var gfxByGC = map[string]string{
	"9.0.1":   "gfx900",
	"9.4.0":   "gfx906",
	"9.4.1":   "gfx908",
	"9.4.2":   "gfx90a",
	"9.4.3":   "gfx942",
	"9.4.4":   "gfx942",
	"9.5.0":   "gfx950",
	"10.1.10": "gfx1010",
	"10.3.0":  "gfx1030",
	"10.3.1":  "gfx1033",
	"10.3.2":  "gfx1031",
	"10.3.3":  "gfx1035",
	"10.3.4":  "gfx1032",
	"10.3.6":  "gfx1036",
	"11.0.0":  "gfx1100",
	"11.0.2":  "gfx1102",
	"11.0.1":  "gfx1103",
	"11.0.3":  "gfx1101",
	"11.0.4":  "gfx1103",
	"11.5.0":  "gfx1150",
	"11.5.1":  "gfx1151",
	"12.0.0":  "gfx1200",
	"12.0.1":  "gfx1201",
}

// gfxByDevice gives the instruction set of the products of the catalogue by PCI device id, for hosts where neither KFD nor
// ip_discovery can be read: an architecture has one name, however much of the host is seen. Source: the same table, and the
// devices of each in drivers/gpu/drm/amd/amdgpu/amdgpu_drv.c.
var gfxByDevice = map[string]string{
	"67df": "gfx803", "687f": "gfx900", "66a1": "gfx906", "738c": "gfx908", "740c": "gfx90a", "740f": "gfx90a", "7408": "gfx90a",
	"74a0": "gfx942", "74a1": "gfx942", "74a2": "gfx942", "74a5": "gfx942", "74a8": "gfx942", "74a9": "gfx942", "74b5": "gfx942",
	"74b6": "gfx942", "74b9": "gfx942", "74bd": "gfx942", "75a0": "gfx950", "75a3": "gfx950",
	"73bf": "gfx1030", "744c": "gfx1100", "7448": "gfx1100", "747e": "gfx1101", "7550": "gfx1201", "7551": "gfx1201", "1586": "gfx1151", "150e": "gfx1150", "15bf": "gfx1103",
}
