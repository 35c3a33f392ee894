package backend

import (
	"errors"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// HostMemory is the memory of the host, in MiB.
type HostMemory struct {
	Total int64
	// available is what can be had without swapping (MemAvailable, proc(5)); nil where the kernel does not say.
	Available *int64
}

const memInfoFile = "/proc/meminfo"

// ReadHostMemory reads what the host has and has left.
func ReadHostMemory(files host.Files) (*HostMemory, error) {
	text, _, err := host.ReadText(files, memInfoFile)
	if err != nil {
		return nil, err
	}
	total, ok := host.MemInfo(text, "MemTotal")
	if !ok || total == 0 {
		return nil, errors.New(memInfoFile + ": has no valid MemTotal: the memory of devices that share the host's is not known")
	}
	memory := &HostMemory{Total: total}
	if available, ok := host.MemInfo(text, "MemAvailable"); ok {
		available = min(available, total)
		memory.Available = &available
	}
	return memory, nil
}

// Used is what the host and its devices use together; nil where that is not known.
func (m *HostMemory) Used() *int64 {
	if m.Available == nil {
		return nil
	}
	return new(m.Total - *m.Available)
}

// Shared is the memory of a device that has none of its own: the host's, of which it has what the host leaves.
func (m *HostMemory) Shared() *v1alpha1.DeviceMemory {
	memory := &v1alpha1.DeviceMemory{
		TotalMiB: m.Total, Source: v1alpha1.SourceKernel, Shared: &v1alpha1.SharedMemory{HostMiB: m.Total},
	}
	if used := m.Used(); used != nil {
		memory.UsedByOthersMiB = UsedInSteps(*used, m.Total)
	}
	return memory
}
