package qualcomm

import (
	"cmp"
	"maps"
	"regexp"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
)

// qaicReport is what qaic-util says of a SoC, by its words for each fact.
type qaicReport map[string]string

// The facts of a report that are asked for in several places.
const (
	qaicSKU   = "Sku Type"
	qaicBoard = "Board serial"
)

// Kinds of card as qaic-util names them, and their products in the catalogue; others it does not have.
const (
	skuUltra     = "PCIe Ultra"
	productUltra = "AI 100 Ultra"
)

var qaicProducts = map[string]string{"PCIe": "AI 100 Standard", "PCIe Pro": "AI 100 Pro", skuUltra: productUltra}

// maxQaicReports is far above the SoCs of a host, maxQaicMilliW above what a card draws.
const (
	maxQaicReports = 256
	maxQaicMilliW  = 10_000_000
)

var qaicHead = regexp.MustCompile(`(?m)^\s*QID `)

// parseQaicUtil reads the text of `qaic-util -q` by PCI address: `QID 0`, then a line `Key:value` of each fact. What is
// lacking stays so: a SoC that is not ready has no more than its status.
func parseQaicUtil(text string) map[string]qaicReport {
	reports := map[string]qaicReport{}
	for _, entry := range qaicHead.Split(text, maxQaicReports) {
		report := maps.Collect(host.Pairs(entry, ":"))
		if address := report["PCI Address"]; pci.IsAddress(address) {
			reports[address] = report
		}
	}
	return reports
}

// mib reads an amount of memory; nil where it is none. The number of "MB" is of MiB: a card of 32 GiB reports 32692.
func (r qaicReport) mib(fact string) *int64 {
	return backend.ParseNumber(strings.TrimSuffix(r[fact], " MB"), 1, backend.MaxMemoryMiB)
}

// describe adds to a device what is reported. A SoC that is not ready cannot run anything.
func (r qaicReport) describe(device *v1alpha1.Device) {
	device.UUID, device.FirmwareVersion = r["HW Serial"], r["FW Version"]
	if total := r.mib("Dram Total"); total != nil && *total > 0 {
		device.Memory = backend.Memory(*total, *cmp.Or(r.usedMiB(), new(int64)), v1alpha1.SourceDriver)
	}
	switch status := r["Status"]; status {
	case "":
	case "Ready":
		if device.Health.State == v1alpha1.Healthy {
			device.Health = backend.Healthy("qaic-util says: Ready")
		}
	case "Error":
		device.Health = backend.Unhealthy("NotReady", "qaic-util says: Error: see dmesg, and reset the SoC")
	default:
		device.Health = backend.Unknown("NotReady", "qaic-util says: "+status)
	}
}

func (r qaicReport) usedMiB() *int64 {
	total, free := r.mib("Dram Total"), r.mib("Dram Free")
	if total == nil || free == nil || *total == 0 || *free > *total {
		return nil
	}
	return new(*total - *free)
}

// reading is what sensors show. The power is the card's, so a SoC has it only where it is alone on its card.
func (r qaicReport) reading(alone bool) backend.Reading {
	reading := backend.Reading{
		MemoryUsedMiB: r.usedMiB(), TemperatureMilliC: backend.ParseNumber(r["SoC temperature(degree C)"], 1000, backend.MaxTemperatureMilliC),
	}
	if alone && !strings.HasPrefix(r[qaicSKU], skuUltra) {
		reading.PowerMilliW = backend.ParseNumber(r["Board power(Watts)"], 1000, maxQaicMilliW)
	}
	return reading
}
