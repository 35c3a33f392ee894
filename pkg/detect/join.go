package detect

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// join puts the outcomes of all backends into one status, in an order that does not depend on who was first.
func join(outcomes []outcome) v1alpha1.AcceleratorInventoryStatus {
	outcomes = slices.Clone(outcomes)
	slices.SortStableFunc(outcomes, func(a, b outcome) int { return cmp.Compare(a.backend, b.backend) })

	var status v1alpha1.AcceleratorInventoryStatus
	taken := claims{ids: map[v1alpha1.DeviceID]string{}, addresses: map[string]string{}}
	hasHost := false
	for _, o := range outcomes {
		result := v1alpha1.BackendStatus{Name: clip(o.backend, maxBackendName)}
		if o.err != nil {
			result.State, result.Message = v1alpha1.BackendFailed, clip(o.err.Error(), maxMessage)
			status.Backends = append(status.Backends, result)
			continue
		}
		devices, notes := taken.admit(o, maxDevices-len(status.Devices))
		status.Devices = append(status.Devices, devices...)
		status.Links.Domains = append(status.Links.Domains, o.found.Links.Domains...)
		status.Links.Pairs = append(status.Links.Pairs, o.found.Links.Pairs...)
		if o.found.Host != nil && !hasHost {
			status.Host, hasHost = boundHost(*o.found.Host), true
		}
		if o.found.Degraded != "" {
			notes = append([]string{o.found.Degraded}, notes...)
		}
		result.Devices = int32(len(devices))
		result.Message = clip(strings.Join(notes, "; "), maxMessage)
		result.State = stateOf(result, o.found.Host != nil)
		status.Backends = append(status.Backends, result)
	}
	status.Backends = status.Backends[:min(len(status.Backends), maxBackends)]
	slices.SortFunc(status.Devices, func(a, b v1alpha1.Device) int { return cmp.Compare(a.ID, b.ID) })
	status.Links = boundLinks(status.Links, taken.ids)
	status.Summary = status.Summarize(v1alpha1.AcceleratorInventorySpec{})
	return status
}

func stateOf(result v1alpha1.BackendStatus, readHost bool) v1alpha1.BackendState {
	switch {
	case result.Message != "":
		return v1alpha1.BackendDegraded
	case result.Devices > 0 || readHost:
		return v1alpha1.BackendFound
	default:
		return v1alpha1.BackendAbsent
	}
}

// claims remembers which backend listed what.
type claims struct {
	ids map[v1alpha1.DeviceID]string
	// addresses is by PCI address. Partitions of one device share it, but only within a backend.
	addresses map[string]string
}

// admit returns the backend's devices that are valid and not listed by another one, and says of each other why not.
func (c claims) admit(o outcome, room int) (devices []v1alpha1.Device, notes []string) {
	sorted := slices.Clone(o.found.Devices)
	slices.SortStableFunc(sorted, func(a, b v1alpha1.Device) int { return cmp.Compare(a.ID, b.ID) })
	for _, device := range sorted {
		bounded, err := boundDevice(device)
		if err != nil {
			notes = append(notes, err.Error())
			continue
		}
		bounded.Backend = clip(o.backend, maxBackendName)
		if other, ok := c.holder(bounded, o.backend); ok {
			notes = append(notes, fmt.Sprintf("%s is listed by backend %s already and left out here", bounded.ID, other))
			continue
		}
		if len(devices) >= room {
			return devices, append(notes, fmt.Sprintf("more than %d devices: those from %s on are left out", maxDevices, bounded.ID))
		}
		c.ids[bounded.ID] = o.backend
		if bounded.PCI != nil {
			c.addresses[bounded.PCI.Address] = o.backend
		}
		devices = append(devices, bounded)
	}
	return devices, notes
}

func (c claims) holder(device v1alpha1.Device, backend string) (string, bool) {
	if other, ok := c.ids[device.ID]; ok {
		return other, true
	}
	if device.PCI == nil {
		return "", false
	}
	other, ok := c.addresses[device.PCI.Address]
	return other, ok && (other != backend || device.Partition == nil)
}
