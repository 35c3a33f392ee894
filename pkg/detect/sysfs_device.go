package detect

import (
	"path"
	"strings"
)

// readNUMANode returns the NUMA node of the device at a sysfs folder; nil where the kernel says -1 or nothing.
func readNUMANode(files Files, folder string) *int32 {
	node, ok, err := readInt(files, path.Join(folder, "numa_node"))
	if !ok || err != nil || node < 0 || node > maxNUMANode {
		return nil
	}
	value := int32(node)
	return &value
}

// maxNUMANode is far above the kernel's highest (1 << CONFIG_NODES_SHIFT is 1024).
const maxNUMANode = 1 << 16

// moduleVersion is the version of a kernel module that has one (DKMS packages), else the kernel's release, of which a
// module without a version is a part.
func moduleVersion(files Files, module string) string {
	version, _, _ := readText(files, path.Join("/sys/module", path.Base(module), "version"))
	if version == "" {
		version, _, _ = readText(files, "/proc/sys/kernel/osrelease")
	}
	return clip(version, 64)
}

// uevent is a uevent file's keys and values.
type uevent map[string]string

func parseUevent(text string) uevent {
	values := uevent{}
	for line := range strings.Lines(text) {
		if key, value, found := strings.Cut(strings.TrimSpace(line), "="); found {
			values[key] = value
		}
	}
	return values
}
