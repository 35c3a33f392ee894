package amd

import (
	"path"
	"strconv"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

const kfdProcesses = "/sys/class/kfd/kfd/proc"

// kfdUsedBytes is the memory that processes hold on a KFD node, by its gpu_id (Linux, drivers/gpu/drm/amd/amdkfd/
// kfd_process.c). It is what a partition's use is read from: amdgpu counts that of the whole card only.
func kfdUsedBytes(files host.Files, gpuID string) int64 {
	if gpuID == "" {
		return 0
	}
	processes, err := host.ReadNumbered(files, kfdProcesses, "")
	if err != nil {
		return 0
	}
	var sum int64
	for _, process := range processes {
		used, _, err := host.ReadInt(files, path.Join(kfdProcesses, strconv.Itoa(process), "vram_"+path.Base(gpuID)))
		if err == nil && used > 0 {
			sum += used
		}
	}
	return sum
}
