package intel

import (
	"bytes"
	"encoding/csv"
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
)

// Headings of the answer to host.XPUDiscovery, by which it is read: columns come in any order. Source: intel/xpumanager,
// doc/smi_user_guide.md.
const (
	xpuID       = "Device ID"
	xpuName     = "Device Name"
	xpuUUID     = "UUID"
	xpuSOCUUID  = "SOC UUID" // of version 2
	xpuFirmware = "GFX Firmware Version"
	xpuAddress  = "PCI BDF Address"
	xpuMemory   = "Memory Physical Size"
	xpuStatus   = "GFX Firmware Status"
)

// xpuBadState is the firmware's status of a card that is on the PCI bus and that Level Zero does not see.
const xpuBadState = "GPU in bad state"

// xpuDevice is what xpu-smi says of a card; texts and numbers that it does not know are empty.
type xpuDevice struct {
	// number is xpu-smi's own, by which its other answers speak of the card.
	number    string
	name      string
	uuid      string
	firmware  string
	memoryMiB int64
	bad       bool
}

// parseXPUDiscovery reads `xpu-smi discovery --dump`: a line of headings and a line for each card, comma-separated. The
// result is by PCI address as the kernel prints it. Lines without one are left out.
func parseXPUDiscovery(output []byte) (map[string]xpuDevice, error) {
	reader := csv.NewReader(bytes.NewReader(output))
	reader.FieldsPerRecord, reader.LazyQuotes, reader.TrimLeadingSpace = -1, true, true
	records, err := reader.ReadAll()
	if err != nil {
		return nil, err
	}
	var column map[string]int
	devices := map[string]xpuDevice{}
	for _, record := range records {
		if column == nil {
			column = xpuHeadings(record)
			continue
		}
		value := func(heading string) string {
			if i, ok := column[heading]; ok && i < len(record) {
				return intelValue(record[i])
			}
			return ""
		}
		address := strings.ToLower(value(xpuAddress))
		if !pci.IsAddress(address) || len(devices) >= backend.MaxDevices {
			continue
		}
		devices[address] = xpuDevice{
			number: value(xpuID), name: xpuProduct(value(xpuName)), uuid: strings.ToLower(value(xpuUUID) + value(xpuSOCUUID)),
			firmware: value(xpuFirmware), memoryMiB: xpuMiB(value(xpuMemory)), bad: value(xpuStatus) == xpuBadState,
		}
	}
	if column == nil {
		return nil, errors.New("no line of headings with " + xpuAddress)
	}
	return devices, nil
}

// xpuHeadings returns the columns by their headings; nil where the line has no headings.
func xpuHeadings(record []string) map[string]int {
	column := map[string]int{}
	for i, heading := range record {
		column[strings.TrimSpace(heading)] = i
	}
	if _, ok := column[xpuAddress]; !ok {
		return nil
	}
	return column
}

// intelValue returns a value as Intel's tools print it; empty where a word stands for its absence.
func intelValue(text string) string {
	text = strings.TrimSpace(text)
	switch strings.ToLower(strings.Trim(text, "[]")) {
	case "unknown", "n/a":
		return ""
	}
	return text
}

// xpuProduct drops the name that Level Zero makes of an id that it has no name for: `Intel(R) Graphics [0x56c0]`.
func xpuProduct(name string) string {
	if strings.Contains(name, "[0x") {
		return ""
	}
	return name
}

// xpuMiB reads `16288.00 MiB`; 0 where it is no such amount.
func xpuMiB(text string) int64 {
	number, ok := strings.CutSuffix(text, " MiB")
	if mib := backend.ParseNumber(number, 1, backend.MaxMemoryMiB); ok && mib != nil {
		return *mib
	}
	return 0
}

// xeLanes are the lanes of Xe Link between two cards, by xpu-smi's numbers of them, the smaller first.
type xeLanes map[[2]int]int

var (
	xpuTile  = regexp.MustCompile(`\bGPU (\d{1,4}/\d{1,2})\b`)
	xpuLabel = regexp.MustCompile(`^GPU(\d{1,4})/\d{1,2}$`)
	xpuXe    = regexp.MustCompile(`^XL(\d{1,3})$`)
)

// parseXeLanes reads the matrix of `xpu-smi topology -m`: a row and a column for each tile (`GPU 1/0`), and in each cell
// the relation of the two. XL16 are 16 lanes between the tiles. XL* is a way through the other tile of a card and counts
// for nothing, nor do MDF (the tiles of one card), NODE and SYS (PCIe).
func parseXeLanes(text string) xeLanes {
	rows := xeLanes{}
	for _, cell := range host.Matrix(xpuTile.ReplaceAllString(text, "GPU$1"), xpuLabel.MatchString) {
		row, column := xeCard(cell.Row), xeCard(cell.Column)
		if match := xpuXe.FindStringSubmatch(cell.Word); match != nil && column != row {
			lanes, _ := strconv.Atoi(match[1])
			rows[[2]int{row, column}] += lanes
		}
	}
	return rows.narrowest()
}

// xeCard is the number of the card of a tile with a label.
func xeCard(label string) int {
	card, _ := strconv.Atoi(xpuLabel.FindStringSubmatch(label)[1])
	return card
}

// narrowest takes the direction with fewer lanes where the two directions of a pair disagree, and drops what only one
// direction has.
func (l xeLanes) narrowest() xeLanes {
	pairs := xeLanes{}
	for pair, lanes := range l {
		if lanes = min(lanes, l[[2]int{pair[1], pair[0]}]); pair[0] < pair[1] && lanes > 0 {
			pairs[pair] = lanes
		}
	}
	return pairs
}
