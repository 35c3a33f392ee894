package intel

import (
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
)

// hlColumns is the number of values in a line, in the order of the columns of host.GaudiQuery. Source: Intel Gaudi documentation,
// System Management Interface Tool.
const hlColumns = 9

// hlDevice is what hl-smi says of a card; what it does not know is empty.
type hlDevice struct {
	module, uuid, name string
	totalMiB, usedMiB  int64
	reading            backend.Reading
}

// parseHLSMI reads the lines, by PCI address. Lines that are no such line are left out: hl-smi prints warnings between
// them.
func parseHLSMI(text string) map[string]hlDevice {
	devices := map[string]hlDevice{}
	for line := range strings.Lines(text) {
		cells := strings.Split(line, ",")
		if len(cells) != hlColumns || len(devices) >= backend.MaxDevices {
			continue
		}
		for i := range cells {
			cells[i] = hlValue(cells[i])
		}
		address := strings.ToLower(cells[0])
		if !pci.IsAddress(address) {
			continue
		}
		device := hlDevice{module: host.Clip(cells[1], 16), uuid: host.Clip(cells[2], 128), name: host.Clip(cells[3], 256)}
		used := hlNumber(cells[5], 1, backend.MaxMemoryMiB)
		if total := hlNumber(cells[4], 1, backend.MaxMemoryMiB); total != nil {
			device.totalMiB = *total
			if used != nil {
				device.usedMiB = min(*used, *total)
			}
		}
		device.reading = backend.Reading{
			MemoryUsedMiB:      used,
			TemperatureMilliC:  hlNumber(cells[6], 1000, maxMilliC),
			PowerMilliW:        hlNumber(cells[7], 1000, maxMilliW),
			UtilizationPercent: hlNumber(cells[8], 1, 100),
		}
		devices[address] = device
	}
	return devices
}

// maxMilliW is above what any card draws.
const maxMilliW = 10_000_000

func hlValue(cell string) string {
	cell = strings.TrimSpace(cell)
	if strings.Trim(strings.ToUpper(cell), "[]") == "N/A" {
		return ""
	}
	return cell
}

// hlNumber reads a number and scales it; nil where it is none or out of range.
func hlNumber(cell string, scale float64, highest int64) *int64 {
	number, err := strconv.ParseFloat(cell, 64)
	if err != nil || !(number >= 0 && number*scale <= float64(highest)) {
		return nil
	}
	value := int64(number * scale)
	return &value
}
