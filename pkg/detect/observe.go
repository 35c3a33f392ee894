package detect

import (
	"context"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// observe completes the health of the devices with what the kernel shows of their PCI functions.
func observe(ctx context.Context, h *host.Host, report *Report) {
	addresses := map[string]bool{}
	for i := range report.Status.Devices {
		if pci := report.Status.Devices[i].PCI; pci != nil {
			addresses[pci.Address] = true
		}
	}
	var checks map[string]pciCheck
	if len(addresses) > 0 {
		checks = pciChecks(ctx, h, addresses)
	}
	for i := range report.Status.Devices {
		device := &report.Status.Devices[i]
		var check pciCheck
		if device.PCI != nil {
			check = checks[device.PCI.Address]
		}
		device.Health = judged(device.Health, check)
		signs := report.Signs[device.ID]
		signs.add(Signs{Counters: check.counters, Suspicions: check.suspicions})
		report.Signs[device.ID] = signs
		if check.rate.now != nil || check.rate.most != nil {
			reading := report.Readings[device.ID]
			reading.PCIeMBps, reading.PCIeMaxMBps = check.rate.now, check.rate.most
			report.Readings[device.ID] = reading
		}
	}
}

// judged is a device's health by its backend and by its PCI function. A function that is gone decides, also where the
// backend could not tell.
func judged(health v1alpha1.DeviceHealth, check pciCheck) v1alpha1.DeviceHealth {
	switch {
	case check.fault.State != "" && health.State != v1alpha1.Unhealthy:
		return check.fault
	case health.Reason != ReasonOpened:
		return health
	case check.evidence != "":
		return healthy(check.evidence)
	default:
		return notMonitored("no more is seen of the device than that it can be opened: neither its driver nor its bus shows how it is")
	}
}
