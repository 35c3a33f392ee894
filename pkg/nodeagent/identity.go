package nodeagent

import (
	"cmp"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// sameHardware says whether two readings under one id are of the same device: a card put into another one's slot has
// its address, but not its PCI ids, its partition or its UUID.
func sameHardware(before, after *v1alpha1.Device) bool {
	return samePCI(before.PCI, after.PCI) && samePartition(before.Partition, after.Partition) &&
		(unreadUUID(before.UUID) || unreadUUID(after.UUID) || before.UUID == after.UUID)
}

func samePCI(before, after *v1alpha1.PCIDevice) bool {
	if before == nil || after == nil {
		return before == after
	}
	return before.VendorID == after.VendorID && before.DeviceID == after.DeviceID &&
		before.SubsystemVendorID == after.SubsystemVendorID && before.SubsystemDeviceID == after.SubsystemDeviceID
}

// samePartition takes a profile that was not read for the same one: only a tool knows it.
func samePartition(before, after *v1alpha1.DevicePartition) bool {
	if before == nil || after == nil {
		return before == after
	}
	return before.Kind == after.Kind && before.Parent == after.Parent && before.Index == after.Index &&
		(before.Profile == "" || after.Profile == "" || before.Profile == after.Profile)
}

// unreadUUID says whether a UUID is absent or the question marks that NVIDIA's driver prints before it has read it.
func unreadUUID(uuid string) bool {
	return uuid == "" || strings.Contains(uuid, "?")
}

// evidence orders the sources of a device's memory, and with it of its product, since the same reading gives both.
var evidence = map[v1alpha1.FactSource]int{
	v1alpha1.SourceCatalogue: 1,
	v1alpha1.SourceKernel:    2,
	v1alpha1.SourceDriver:    3,
}

// keepIdentity fills a partial reading of a device with what was known of the same hardware before: who it is does not
// change because a tool hangs. Product and memory give way to a new reading only where it is as good as the old one;
// the rest only fills gaps. What describes a state (driver, health, paths) is never kept.
func keepIdentity(before, d *v1alpha1.Device) {
	if unreadUUID(d.UUID) {
		d.UUID = before.UUID
	}
	if rank(d.Memory) < rank(before.Memory) {
		d.Memory = before.Memory.DeepCopy()
		d.Product = cmp.Or(before.Product, d.Product)
	}
	d.Product = cmp.Or(d.Product, before.Product)
	d.Architecture = cmp.Or(d.Architecture, before.Architecture)
	d.ComputeCapability = cmp.Or(d.ComputeCapability, before.ComputeCapability)
	d.FirmwareVersion = cmp.Or(d.FirmwareVersion, before.FirmwareVersion)
	if d.Performance == nil {
		d.Performance = before.Performance.DeepCopy()
	}
	if d.Partition != nil {
		d.Partition.Profile = cmp.Or(d.Partition.Profile, before.Partition.Profile)
	}
}

// rank is how good a reading of the memory is; none at all is the worst.
func rank(memory *v1alpha1.DeviceMemory) int {
	if memory == nil {
		return -1
	}
	return evidence[memory.Source]
}
