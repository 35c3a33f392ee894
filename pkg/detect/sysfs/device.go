// Package sysfs reads how Linux shows devices: the members of its classes and their device nodes, DRM nodes, devices of the device
// tree, and the versions of drivers.
package sysfs

import (
	"maps"
	"path"

	"github.com/rankwright/rankwright/pkg/detect/host"
)

// ReadNUMANode returns the NUMA node of the device at a sysfs folder; nil where the kernel says -1 or nothing.
func ReadNUMANode(files host.Files, folder string) *int32 {
	node, ok := host.ReadBetween(files, path.Join(folder, "numa_node"), 0, maxNUMANode)
	if !ok {
		return nil
	}
	return new(int32(node))
}

// Driver returns the kernel's name of the driver that is bound to the device at a sysfs folder; empty where none is.
func Driver(files host.Files, folder string) string {
	target, err := files.ReadLink(path.Join(folder, "driver"))
	if err != nil {
		return ""
	}
	return host.Clip(path.Base(target), 64)
}

// maxNUMANode is far above the kernel's highest (1 << CONFIG_NODES_SHIFT is 1024).
const maxNUMANode = 1 << 16

// ModuleVersion returns the version of a kernel module that has one (DKMS packages), else the release of the kernel, which a
// module without a version is a part of.
func ModuleVersion(files host.Files, module string) string {
	version, _, _ := host.ReadText(files, path.Join("/sys/module", path.Base(module), "version"))
	if version == "" {
		version, _, _ = host.ReadText(files, "/proc/sys/kernel/osrelease")
	}
	return host.Clip(version, 64)
}

// Uevent is a uevent file's keys and values.
type Uevent map[string]string

// ParseUevent reads lines of `KEY=value`; others are passed over.
func ParseUevent(text string) Uevent {
	return maps.Collect(host.Pairs(text, "="))
}
