package main

import (
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

// nvidiaMIG is a MIG device: a compute instance in a GPU instance, each by its number.
type nvidiaMIG struct {
	Profile           string
	Instance, Compute int
	MiB               int
}

// FreeMiB returns the memory that the driver leaves.
func (m nvidiaMIG) FreeMiB() int { return m.MiB - 26 }

// uuid makes a UUID that is plainly made up, from the UUID of the GPU.
func (m nvidiaMIG) uuid(g nvidiaGPU, i int) string {
	return fmt.Sprintf("MIG-%s%04d", strings.TrimPrefix(g.UUID, "GPU-")[:32], i)
}

// addCapabilities adds the files and device nodes that grant MIG devices. Minors are given in order of the instances.
func addCapabilities(h *compose.Host, g nvidiaGPU) {
	minor := 1 + 100*g.Index
	instances := map[int]bool{}
	for _, m := range g.MIG {
		folder := fmt.Sprintf("/proc/driver/nvidia/capabilities/gpu%d/mig/gi%d", g.Index, m.Instance)
		if !instances[m.Instance] {
			instances[m.Instance] = true
			addCapability(h, folder, minor)
			minor++
		}
		addCapability(h, fmt.Sprintf("%s/ci%d", folder, m.Compute), minor)
		minor++
	}
}

func addCapability(h *compose.Host, folder string, minor int) {
	h.File(folder+"/access", fmt.Sprintf("DeviceFileMinor: %d\nDeviceFileMode: 292\nDeviceFileModify: 1", minor))
	h.Device(fmt.Sprintf("/dev/nvidia-caps/nvidia-cap%d", minor))
}
