package qualcomm

import (
	"math"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/pci"
)

// qaicReport is what qaic-util says of a SoC; a number is -1 where it says none.
type qaicReport struct {
	status, sku, serial, boardSerial, firmware string
	totalMiB, freeMiB                          int64
	milliC, milliW                             int64
}

// Kinds of card as qaic-util names them, and their products in the catalogue; others it does not have.
const (
	skuUltra     = "PCIe Ultra"
	productUltra = "AI 100 Ultra"
)

var qaicProducts = map[string]string{"PCIe": "AI 100 Standard", "PCIe Pro": "AI 100 Pro", skuUltra: productUltra}

// maxQaicReports is far above the SoCs of a host.
const maxQaicReports = 256

// parseQaicUtil reads the text of `qaic-util -q` by PCI address: `QID 0`, then a line `Key:value` of each fact. What is
// lacking stays so: a SoC that is not ready has no more than its status.
func parseQaicUtil(text string) map[string]qaicReport {
	reports := map[string]qaicReport{}
	var address string
	blank := qaicReport{totalMiB: -1, freeMiB: -1, milliC: -1, milliW: -1}
	report := blank
	keep := func() {
		if address != "" && len(reports) < maxQaicReports {
			reports[address] = report
		}
		address, report = "", blank
	}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "QID ") {
			keep()
			continue
		}
		key, value, found := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if !found || value == "" {
			continue
		}
		if key == "PCI Address" && pci.IsAddress(value) {
			address = value
		}
		report.take(key, value)
	}
	keep()
	return reports
}

// take reads a fact. The number of "MB" is of MiB: a card of 32 GiB reports 32692.
func (r *qaicReport) take(key, value string) {
	switch key {
	case "Status":
		r.status = value
	case "Sku Type":
		r.sku = value
	case "HW Serial":
		r.serial = value
	case "Board serial":
		r.boardSerial = value
	case "FW Version":
		r.firmware = value
	case "Dram Total":
		r.totalMiB = scaledNumber(strings.TrimSuffix(value, " MB"), 1, backend.MaxMemoryMiB)
	case "Dram Free":
		r.freeMiB = scaledNumber(strings.TrimSuffix(value, " MB"), 1, backend.MaxMemoryMiB)
	case "SoC temperature(degree C)":
		r.milliC = scaledNumber(value, 1000, 200_000)
	case "Board power(Watts)":
		r.milliW = scaledNumber(value, 1000, 10_000_000)
	}
}

// scaledNumber reads a decimal number times the scale, rounded; -1 where it is none or out of range.
func scaledNumber(text string, scale float64, limit int64) int64 {
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(number) || number < 0 || number*scale > float64(limit) {
		return -1
	}
	return int64(math.Round(number * scale))
}

// describe adds to a device what is reported. A SoC that is not ready cannot run anything.
func (r *qaicReport) describe(device *v1alpha1.Device) {
	device.UUID, device.FirmwareVersion = r.serial, r.firmware
	if r.totalMiB > 0 {
		used, _ := r.usedMiB()
		device.Memory = backend.Memory(r.totalMiB, used, v1alpha1.SourceDriver)
	}
	switch r.status {
	case "":
	case "Ready":
		if device.Health.State == v1alpha1.Healthy {
			device.Health = backend.Healthy("qaic-util says: Ready")
		}
	case "Error":
		device.Health = backend.Unhealthy("NotReady", "qaic-util says: Error: see dmesg, and reset the SoC")
	default:
		device.Health = backend.Unknown("NotReady", "qaic-util says: "+r.status)
	}
}

func (r *qaicReport) usedMiB() (int64, bool) {
	if r.totalMiB <= 0 || r.freeMiB < 0 || r.freeMiB > r.totalMiB {
		return 0, false
	}
	return r.totalMiB - r.freeMiB, true
}

// reading is what sensors show. The power is the card's, so a SoC has it only where it is alone on its card.
func (r *qaicReport) reading(alone bool) backend.Reading {
	var reading backend.Reading
	if used, ok := r.usedMiB(); ok {
		reading.MemoryUsedMiB = &used
	}
	if r.milliC >= 0 {
		reading.TemperatureMilliC = &r.milliC
	}
	if r.milliW >= 0 && alone && !strings.HasPrefix(r.sku, skuUltra) {
		reading.PowerMilliW = &r.milliW
	}
	return reading
}
