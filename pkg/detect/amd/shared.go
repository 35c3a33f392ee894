package amd

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// amdShared is the memory of graphics in a processor, in bytes, as amdgpu reports it; 0 where it reports none.
type amdShared struct {
	// carveOut is what the firmware sets aside (`mem_info_vram_total`), gtt what the GPU can reach of the host's memory.
	carveOut, gtt int64
	// work is what work is given, used what is taken of it: the one or the other, never both together.
	work, used int64
	// picture says that the graphics are there for a picture, and not for work.
	picture bool
}

// amdPictures are graphics with two compute units, which processors have for a picture on a screen: Raphael, Granite Ridge
// and Mendocino. Source: AMD's product pages of Ryzen 7000, 9000 and 7020.
var amdPictures = strings.Fields("164e 13c0 1506")

// readShared settles from which of the two memories work on the GPU is given its own.
func (c *amdCard) readShared(files host.Files) {
	read := func(name string) int64 {
		value, _, _ := host.ReadInt(files, path.Join(c.Path, name))
		return backend.InRange(value)
	}
	shared := amdShared{carveOut: read("mem_info_vram_total"), gtt: read("mem_info_gtt_total")}
	switch {
	case slices.Contains(amdPictures, c.DeviceID):
		shared.picture = true
	case shared.gtt > shared.carveOut && givesGTT(c.listed.DriverVersion):
		shared.work, shared.used = shared.gtt, read("mem_info_gtt_used")
		if h, err := backend.ReadHostMemory(files); err == nil && h.Available != nil {
			shared.used = max(shared.used, shared.gtt-*h.Available<<20)
		}
	default:
		shared.work, shared.used = shared.carveOut, read("mem_info_vram_used")
	}
	shared.used = min(shared.used, shared.work)
	c.shared = &shared
	c.totalBytes, c.usedBytes, c.memoryErr = shared.work, shared.used, nil
}

// givesGTT says whether the driver gives ROCm memory of the host where that is more than what is set aside: amdgpu does so
// from Linux 6.10 on ("Let VRAM allocations go to GTT domain on small APUs", and apu_prefer_gtt after it); before, work has
// what is set aside and no more. AMD's packages of the driver are numbered after the kernel that they are taken from.
func givesGTT(version string) bool {
	var major, minor int
	parsed, _ := fmt.Sscanf(version, "%d.%d", &major, &minor)
	return parsed == 2 && (major > 6 || major == 6 && minor >= 10)
}

// memory is what work can use; nil where that is too little for any. Sizes are said where they are known, used or not.
func (s *amdShared) memory() *v1alpha1.DeviceMemory {
	if s.work < minVRAM {
		return nil
	}
	memory := backend.Memory(s.work>>20, s.used>>20, v1alpha1.SourceKernel)
	memory.Shared = &v1alpha1.SharedMemory{CarveOutMiB: s.carveOut >> 20, HostMiB: s.gtt >> 20}
	return memory
}

// idle is the health of graphics that have no memory that work can use: they are listed, and nothing is put on them.
func (s *amdShared) idle() v1alpha1.DeviceHealth {
	if s.picture {
		return backend.Unknown(reasonNoMemory, "graphics of the processor with two compute units, for a picture: no work is put on them")
	}
	return backend.Unknown(reasonNoMemory, fmt.Sprintf("graphics of the processor without memory that work can use: the firmware sets %s aside, the driver reaches %s of the host's; "+
		"set more aside in the firmware's setup (UMA frame buffer size), or use Linux 6.10 or later", orUnknown(s.carveOut), orUnknown(s.gtt)))
}

// reasonNoMemory is the reason of a device that has no memory that work can use.
const reasonNoMemory = "NoMemory"

func orUnknown(bytes int64) string {
	if bytes <= 0 {
		return "an unknown size"
	}
	return words.HumanMiB(bytes >> 20)
}
