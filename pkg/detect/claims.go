package detect

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// claims remembers which backend listed what, so that a card that two backends see is one device. Each device is judged
// by itself: that one backend found some hides nothing else of another.
type claims struct {
	ids map[v1alpha1.DeviceID]string
	// addresses is by PCI address, paths by device node. Partitions of one device share both, but only within a backend.
	addresses map[string]string
	paths     map[string]string
}

func newClaims() claims {
	return claims{ids: map[v1alpha1.DeviceID]string{}, addresses: map[string]string{}, paths: map[string]string{}}
}

// controlNodes are the device nodes that all devices of a driver are reached by: they tell no device from another.
var controlNodes = []string{"/dev/kfd", "/dev/vfio/vfio", "/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/davinci_manager", "/dev/dxg"}

// admit returns the backend's devices that are valid and not listed by another one, and says of each other why not.
// What a generic backend sees of another's devices is no news.
func (c claims) admit(o outcome, room int) (devices []v1alpha1.Device, notes []string) {
	sorted := slices.Clone(o.found.Devices)
	slices.SortStableFunc(sorted, func(a, b v1alpha1.Device) int { return cmp.Compare(a.ID, b.ID) })
	for _, device := range sorted {
		bounded, err := boundDevice(device)
		if err != nil {
			notes = append(notes, err.Error())
			continue
		}
		bounded.Backend = host.Clip(o.backend, maxBackendName)
		if other, ok := c.holder(bounded, o.backend); ok {
			if !o.found.Generic {
				notes = append(notes, fmt.Sprintf("%s is listed by backend %s already and left out here", bounded.ID, other))
			}
			continue
		}
		if len(devices) >= room {
			return devices, append(notes, fmt.Sprintf("more than %d devices: those from %s on are left out", backend.MaxDevices, bounded.ID))
		}
		c.add(bounded, o.backend)
		devices = append(devices, bounded)
	}
	return devices, notes
}

func (c claims) add(device v1alpha1.Device, lister string) {
	c.ids[device.ID] = lister
	if device.PCI != nil {
		c.addresses[device.PCI.Address] = lister
	}
	for _, name := range device.Paths {
		if !slices.Contains(controlNodes, name) {
			c.paths[name] = lister
		}
	}
}

// holder returns the backend that listed the device before.
func (c claims) holder(device v1alpha1.Device, lister string) (string, bool) {
	if other, ok := c.ids[device.ID]; ok {
		return other, true
	}
	if device.PCI != nil {
		other, ok := c.addresses[device.PCI.Address]
		if ok && (other != lister || device.Partition == nil) {
			return other, true
		}
	}
	for _, name := range device.Paths {
		if other, ok := c.paths[name]; ok && other != lister {
			return other, true
		}
	}
	return "", false
}
