package detect

import (
	"context"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
)

// observe completes the health of the devices with what the kernel shows of their PCI functions.
func observe(ctx context.Context, h *host.Host, report *Report) {
	addresses := map[string]bool{}
	for i := range report.Status.Devices {
		if place := report.Status.Devices[i].PCI; place != nil {
			addresses[place.Address] = true
		}
	}
	var checks map[string]pci.Check
	if len(addresses) > 0 {
		checks = pci.Checks(ctx, h, addresses)
	}
	for i := range report.Status.Devices {
		device := &report.Status.Devices[i]
		var check pci.Check
		if device.PCI != nil {
			check = checks[device.PCI.Address]
		}
		device.Health = judged(device.Health, check)
		signs := report.Signs[device.ID]
		signs.Add(backend.Signs{Counters: check.Counters, Suspicions: check.Suspicions})
		report.Signs[device.ID] = signs
		if check.Rate.Now != nil || check.Rate.Most != nil {
			reading := report.Readings[device.ID]
			reading.PCIeMBps, reading.PCIeMaxMBps = check.Rate.Now, check.Rate.Most
			report.Readings[device.ID] = reading
		}
	}
}

// judged is a device's health by its backend and by its PCI function. A function that is gone decides, also where the
// backend could not tell.
func judged(health v1alpha1.DeviceHealth, check pci.Check) v1alpha1.DeviceHealth {
	switch {
	case check.Fault.State != "" && health.State != v1alpha1.Unhealthy:
		return check.Fault
	case health.Reason != backend.ReasonOpened:
		return health
	case check.Evidence != "":
		return backend.Healthy(check.Evidence)
	default:
		return backend.NotMonitored("no more is seen of the device than that it can be opened: neither its driver nor its bus shows how it is")
	}
}
