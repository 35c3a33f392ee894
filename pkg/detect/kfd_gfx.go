package detect

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

// ipVersion is the version of a hardware block as amdgpu's ip_discovery tree prints it.
type ipVersion struct{ major, minor, revision uint64 }

// gfxByGC gives the instruction set of a graphics core, for hosts where the KFD topology cannot be read. Source: the
// table of Linux, drivers/gpu/drm/amd/amdkfd/kfd_device.c.
var gfxByGC = map[ipVersion]string{
	{9, 0, 1}:   "gfx900",
	{9, 4, 0}:   "gfx906",
	{9, 4, 1}:   "gfx908",
	{9, 4, 2}:   "gfx90a",
	{9, 4, 3}:   "gfx942",
	{9, 4, 4}:   "gfx942",
	{9, 5, 0}:   "gfx950",
	{10, 1, 10}: "gfx1010",
	{10, 3, 0}:  "gfx1030",
	{10, 3, 2}:  "gfx1031",
	{10, 3, 4}:  "gfx1032",
	{11, 0, 0}:  "gfx1100",
	{11, 0, 2}:  "gfx1102",
	{11, 0, 3}:  "gfx1101",
	{12, 0, 0}:  "gfx1200",
	{12, 0, 1}:  "gfx1201",
}
