package huawei

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
)

// npuChip is what a pair of rows in `npu-smi info` says of a chip.
type npuChip struct {
	// npu is the card's number, chip the chip's on it; physical is the driver's number, nil where the table has none.
	npu, chip         int
	physical          *int32
	name, health      string
	usedMiB, totalMiB int64
	milliC, milliW    *int64
	coresPercent      *int64
}

// reading is empty of a chip of which nothing is said.
func (c *npuChip) reading() backend.Reading {
	if c == nil {
		return backend.Reading{}
	}
	r := backend.Reading{TemperatureMilliC: c.milliC, PowerMilliW: c.milliW, UtilizationPercent: c.coresPercent}
	if c.totalMiB > 0 {
		r.MemoryUsedMiB = new(c.usedMiB)
	}
	return r
}

// npuReport is what `npu-smi info` printed.
type npuReport struct {
	version string
	// chips is by PCI address; the chips of one function are told apart by their numbers.
	chips map[string][]npuChip
}

// chip returns what is said of a function's chip; nil where nothing is.
func (r npuReport) chip(address string, chip, chips int) *npuChip {
	rows := r.chips[address]
	if chips == 1 && len(rows) == 1 {
		return &rows[0]
	}
	for i := range rows {
		if chips > 1 && rows[i].chip == chip {
			return &rows[i]
		}
	}
	return nil
}

// queryNPUSMI runs npu-smi where a driver is bound: without one it has nobody to ask.
func queryNPUSMI(ctx context.Context, h *host.Host, npus []ascendNPU) (npuReport, error) {
	if !slices.ContainsFunc(npus, func(n ascendNPU) bool { return n.Driver == ascendDriver }) {
		return npuReport{}, nil
	}
	result, err := host.Query(ctx, h, "exact products, memory, alarms and links of the NPUs are not known without npu-smi of the driver's package", host.NPUInfo...)
	if err != nil {
		return npuReport{}, err
	}
	report := parseNPUSMI(string(result.Stdout))
	if !slices.ContainsFunc(npus, func(n ascendNPU) bool { return report.chip(n.Address, n.chip, n.chips) != nil }) {
		return report, host.CommandError(host.NPUInfo, errors.New("lists none of the NPUs on the PCI bus: see its output and dmesg"))
	}
	return report, nil
}

var npuVersion = regexp.MustCompile(`\bVersion: *([0-9A-Za-z][0-9A-Za-z._-]{0,31})`)

// parseNPUSMI reads the table. A chip has two rows of three cells: number, name, health, power and temperature in the
// first, chip number, PCI address, load and memory in the second. Cards without HBM have one pair of memory numbers
// less; a 910C's second row has the driver's number, too. The table of processes after it has more cells.
func parseNPUSMI(output string) npuReport {
	report := npuReport{chips: map[string][]npuChip{}}
	if match := npuVersion.FindStringSubmatch(output); match != nil {
		report.version = match[1]
	}
	var open *npuChip
	count := 0
	for line := range strings.Lines(output) {
		cells := npuCells(line)
		if len(cells) != 3 {
			continue
		}
		address, isSecond := pci.ParseAddress(cells[1])
		switch {
		case !isSecond:
			open = npuFirstRow(cells)
		case open != nil && open.second(cells) && count < backend.MaxDevices:
			report.chips[address] = append(report.chips[address], *open)
			open = nil
			count++
		}
	}
	return report
}

func npuCells(line string) []string {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "|") {
		return nil
	}
	cells := strings.Split(strings.Trim(line, "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

func npuFirstRow(cells []string) *npuChip {
	names := strings.Fields(cells[0])
	if len(names) < 2 {
		return nil
	}
	npu, ok := host.ParseIndex(names[0])
	if !ok {
		return nil
	}
	chip := &npuChip{npu: npu, name: strings.Join(names[1:], " "), health: cells[1]}
	if values := strings.Fields(cells[2]); len(values) >= 2 {
		chip.milliW = backend.ParseNumber(values[0], 1000, backend.MaxPowerMicroW/1000)
		chip.milliC = backend.ParseNumber(values[1], 1000, backend.MaxTemperatureMilliC)
	}
	return chip
}

func (c *npuChip) second(cells []string) bool {
	numbers := strings.Fields(cells[0])
	if len(numbers) == 0 {
		return false
	}
	chip, ok := host.ParseIndex(numbers[0])
	if !ok {
		return false
	}
	c.chip = chip
	if len(numbers) == 2 {
		if physical, ok := host.ParseIndex(numbers[1]); ok {
			c.physical = new(int32(physical))
		}
	}
	values := strings.Fields(strings.ReplaceAll(cells[2], "/", " "))
	if len(values) == 0 {
		return true
	}
	c.coresPercent = backend.ParseNumber(values[0], 1, 100)
	// HBM comes last; where there is none, its total is 0 or it has no column.
	for i := len(values) - 2; i >= 1 && c.totalMiB == 0; i -= 2 {
		c.usedMiB, c.totalMiB = memoryPair(values[i], values[i+1])
	}
	return true
}

// memoryPair reads used and total memory; 0 and 0 where the texts are not such numbers.
func memoryPair(used, total string) (usedMiB, totalMiB int64) {
	u, t := backend.ParseNumber(used, 1, backend.MaxMemoryMiB), backend.ParseNumber(total, 1, backend.MaxMemoryMiB)
	if u == nil || t == nil || *t < *u {
		return 0, 0
	}
	return *u, *t
}
