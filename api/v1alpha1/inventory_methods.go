package v1alpha1

import (
	"slices"
	"strings"
)

// Vendor is the vendor part of the id (`nvidia` of `nvidia-0000:17:00.0`).
func (id DeviceID) Vendor() string {
	vendor, _, _ := strings.Cut(string(id), "-")
	return vendor
}

// Usable says whether new work may be put on the device: what is Unhealthy may not be, nor what is Unknown, unless it is
// so only because nothing monitors it.
func (d *Device) Usable() bool {
	switch d.Health.State {
	case Healthy, Degraded:
		return true
	case Unknown:
		return d.Health.Reason == ReasonNotMonitored
	default:
		return false
	}
}

// Whole returns the id of the physical device: the one that a partition is a part of, else the device's own.
func (d *Device) Whole() DeviceID {
	if d.Partition != nil {
		return d.Partition.Parent
	}
	return d.ID
}

// FreeMiB is the memory in MiB that strangers leave.
func (d *Device) FreeMiB() int64 {
	if d.Memory == nil {
		return 0
	}
	return max(0, d.Memory.TotalMiB-d.Memory.UsedByOthersMiB)
}

// Device returns the device with the id, or nil.
func (s *AcceleratorInventoryStatus) Device(id DeviceID) *Device {
	for i := range s.Devices {
		if s.Devices[i].ID == id {
			return &s.Devices[i]
		}
	}
	return nil
}

// Repair returns what the operator says of a device with a fault; nil where it says nothing.
func (s *AcceleratorInventoryStatus) Repair(id DeviceID) *Repair {
	for i := range s.Repairs {
		if s.Repairs[i].Device == id {
			return &s.Repairs[i]
		}
	}
	return nil
}

// Cordoned says whether a device takes no new work whatever its health: the administrator cordoned it, or the operator did.
func (s *AcceleratorInventoryStatus) Cordoned(spec *AcceleratorInventorySpec, id DeviceID) bool {
	return slices.Contains(spec.CordonedDevices, id) || slices.Contains(s.Withdrawn(), id)
}

// Withdrawn returns the devices that the operator cordoned for a fault and that are not back.
func (s *AcceleratorInventoryStatus) Withdrawn() []DeviceID {
	var ids []DeviceID
	for i := range s.Repairs {
		if s.Repairs[i].State != RepairReturned {
			ids = append(ids, s.Repairs[i].Device)
		}
	}
	return ids
}
