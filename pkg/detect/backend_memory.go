package detect

import (
	"errors"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// hostMemory is the memory of the host, in MiB.
type hostMemory struct {
	total int64
	// available is what can be had without swapping (MemAvailable, proc(5)); nil where the kernel does not say.
	available *int64
}

const memInfoFile = "/proc/meminfo"

// readHostMemory reads what the host has and has left.
func readHostMemory(files host.Files) (*hostMemory, error) {
	text, _, err := host.ReadText(files, memInfoFile)
	if err != nil {
		return nil, err
	}
	total, ok := host.MemInfo(text, "MemTotal")
	if !ok || total == 0 {
		return nil, errors.New(memInfoFile + ": has no valid MemTotal: the memory of devices that share the host's is not known")
	}
	memory := &hostMemory{total: total}
	if available, ok := host.MemInfo(text, "MemAvailable"); ok {
		available = min(available, total)
		memory.available = &available
	}
	return memory, nil
}

// used is what the host and its devices use together; nil where that is not known.
func (m *hostMemory) used() *int64 {
	if m.available == nil {
		return nil
	}
	used := m.total - *m.available
	return &used
}

// shared is the memory of a device that has none of its own: the host's, of which it has what the host leaves.
func (m *hostMemory) shared() *v1alpha1.DeviceMemory {
	memory := &v1alpha1.DeviceMemory{
		TotalMiB: m.total, Source: v1alpha1.SourceKernel, Shared: &v1alpha1.SharedMemory{HostMiB: m.total},
	}
	if used := m.used(); used != nil {
		memory.UsedByOthersMiB = UsedInSteps(*used, m.total)
	}
	return memory
}
