package backend

import (
	"errors"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// Memory is a device's memory by what reports it, in MiB; what is used of it is rounded up by UsedInSteps. It is nil where the total is
// not known.
func Memory(totalMiB, usedMiB int64, source v1alpha1.FactSource) *v1alpha1.DeviceMemory {
	if totalMiB <= 0 {
		return nil
	}
	return &v1alpha1.DeviceMemory{TotalMiB: totalMiB, UsedByOthersMiB: UsedInSteps(usedMiB, totalMiB), Source: source}
}

// HostMemory is the memory of the host, in MiB.
type HostMemory struct {
	Total int64
	// Available is what can be had without swapping (MemAvailable, proc(5)); nil where the kernel does not say.
	Available *int64
}

const memInfoFile = "/proc/meminfo"

// ReadHostMemory reads what the host has and has left.
func ReadHostMemory(files host.Files) (*HostMemory, error) {
	text, _, err := host.ReadText(files, memInfoFile)
	if err != nil {
		return nil, err
	}
	totalKiB, _ := host.AmountKiB(text, "MemTotal")
	total := totalKiB >> 10
	if total == 0 {
		return nil, errors.New(memInfoFile + ": has no valid MemTotal: the memory of devices that share the host's is not known")
	}
	memory := &HostMemory{Total: total}
	if available, ok := host.AmountKiB(text, "MemAvailable"); ok {
		memory.Available = new(min(available>>10, total))
	}
	return memory, nil
}

// Used returns what the host and its devices use together, in MiB; nil where that is not known.
func (m *HostMemory) Used() *int64 {
	if m.Available == nil {
		return nil
	}
	return new(m.Total - *m.Available)
}

// Shared returns the memory of a device that works in the host's memory, of which it has what the host leaves.
func (m *HostMemory) Shared() *v1alpha1.DeviceMemory {
	memory := &v1alpha1.DeviceMemory{
		TotalMiB: m.Total, Source: v1alpha1.SourceKernel, Shared: &v1alpha1.SharedMemory{HostMiB: m.Total},
	}
	if used := m.Used(); used != nil {
		memory.UsedByOthersMiB = UsedInSteps(*used, m.Total)
	}
	return memory
}

const (
	// leastStepMiB is the smallest step of memory use on a large scale: 1 GiB.
	leastStepMiB = 1024
	// finestStepMiB is the first step above none in use: an idle driver keeps some MiB on most GPUs, some hundred on others.
	finestStepMiB = 64
)

// UsedInSteps rounds memory use up, so that an inventory does not change with every allocation and free memory is never
// overstated. Steps are 5 % of the total and at least 1 GiB. Below the first of them use is rounded to the next power of two from
// 64 MiB on: what the driver of an idle device keeps is not taken for 5 % of it. All numbers are in MiB; no more than the
// total is in use.
func UsedInSteps(used, total int64) int64 {
	used = min(used, total)
	if used <= 0 {
		return 0
	}
	step := max(leastStepMiB, total/20)
	if used > step {
		return min((used+step-1)/step*step, total)
	}
	fine := int64(finestStepMiB)
	for fine < used {
		fine *= 2
	}
	return min(fine, step, total)
}
