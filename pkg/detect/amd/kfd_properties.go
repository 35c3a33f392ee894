package amd

import (
	"bytes"
	"strconv"
)

// kfdProperties are the numbers of one `properties` file of the KFD topology: a name, a blank and a decimal number a
// line (Linux, drivers/gpu/drm/amd/amdkfd/kfd_topology.c). A name that is not there reads as 0, as the kernel writes
// what does not apply.
type kfdProperties map[string]uint64

// parseKFDProperties reads a `properties` file. Lines of another form are passed over: newer kernels may add some.
func parseKFDProperties(data []byte) kfdProperties {
	properties := kfdProperties{}
	for line := range bytes.Lines(data) {
		fields := bytes.Fields(line)
		if len(fields) != 2 {
			continue
		}
		if value, err := strconv.ParseUint(string(fields[1]), 10, 64); err == nil {
			properties[string(fields[0])] = value
		}
	}
	return properties
}
