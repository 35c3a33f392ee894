package host

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
)

// deviceColumn is what is shown of devices under a header. What is not known is empty.
type deviceColumn struct {
	header string
	value  func(liveDevice) string
}

// tableColumns are the columns of the table: the first tableWidth of them, and in the wide table all. The last ones, from
// firstOptional on, are left out where no device has anything in them.
var tableColumns = slices.Concat([]deviceColumn{
	{"ID", func(d liveDevice) string { return string(d.ID) }},
	{"PRODUCT", func(d liveDevice) string { return d.Product }},
	{"MEMORY", func(d liveDevice) string {
		return known(d.Memory, func(m v1alpha1.DeviceMemory) string { return words.HumanMiB(m.TotalMiB) })
	}},
	{"FREE", func(d liveDevice) string {
		return known(d.Memory, func(v1alpha1.DeviceMemory) string { return words.HumanMiB(d.FreeMiB()) })
	}},
	{"NUMA", func(d liveDevice) string { return integer(d.NUMANode) }},
	{"DRIVER", func(d liveDevice) string { return strings.TrimSpace(d.Driver + " " + d.DriverVersion) }},
	{"HEALTH", func(d liveDevice) string { return string(d.Health.State) }},
	{"FAMILY", func(d liveDevice) string { return string(d.Family) }},
	{"ARCHITECTURE", func(d liveDevice) string { return d.Architecture }},
	{"BANDWIDTH", func(d liveDevice) string {
		return known(d.Performance, func(p v1alpha1.DevicePerformance) string { return gbps(p.MemoryBandwidthMBps) })
	}},
}, readingColumns, []deviceColumn{
	{"UNITS", func(d liveDevice) string { return positive(d.ComputeUnits) }},
	{"CUDA", func(d liveDevice) string { return d.CUDAVersion }},
	{"PARTITION", partitionText},
	{"UUID", func(d liveDevice) string { return d.UUID }},
})

const (
	tableWidth    = 7
	firstOptional = 10
)

// readingColumns are memory used, temperature, power, utilization, and what the PCI link can carry.
var readingColumns = []deviceColumn{
	{"USED", func(d liveDevice) string { return known(d.Readings.MemoryUsedMiB, words.HumanMiB) }},
	{"TEMP", func(d liveDevice) string { return known(d.Readings.TemperatureMilliC, inThousands("%.0f C")) }},
	{"POWER", func(d liveDevice) string { return known(d.Readings.PowerMilliW, inThousands("%.0f W")) }},
	{"UTIL", func(d liveDevice) string {
		return known(d.Readings.UtilizationPercent, func(n int64) string { return fmt.Sprintf("%d%%", n) })
	}},
	{"PCIE", pcieText},
}

// tsvColumns are the columns of -o tsv: numbers without units. New columns come at the end.
var tsvColumns = []deviceColumn{
	{"id", func(d liveDevice) string { return string(d.ID) }},
	{"vendor", func(d liveDevice) string { return d.Vendor }},
	{"family", func(d liveDevice) string { return string(d.Family) }},
	{"product", func(d liveDevice) string { return d.Product }},
	{"architecture", func(d liveDevice) string { return d.Architecture }},
	{"backend", func(d liveDevice) string { return d.Backend }},
	{"driver", func(d liveDevice) string { return d.Driver }},
	{"driverVersion", func(d liveDevice) string { return d.DriverVersion }},
	{"numaNode", func(d liveDevice) string { return integer(d.NUMANode) }},
	{"memoryMiB", func(d liveDevice) string {
		return known(d.Memory, func(m v1alpha1.DeviceMemory) string { return fmt.Sprint(m.TotalMiB) })
	}},
	{"freeMiB", func(d liveDevice) string {
		return known(d.Memory, func(v1alpha1.DeviceMemory) string { return fmt.Sprint(d.FreeMiB()) })
	}},
	{"memoryBandwidthMBps", func(d liveDevice) string {
		return known(d.Performance, func(p v1alpha1.DevicePerformance) string { return positive(p.MemoryBandwidthMBps) })
	}},
	{"partition", partitionText},
	{"uuid", func(d liveDevice) string { return d.UUID }},
	{"health", func(d liveDevice) string { return string(d.Health.State) }},
	{"healthReason", func(d liveDevice) string { return d.Health.Reason }},
	{"memoryUsedMiB", func(d liveDevice) string { return integer(d.Readings.MemoryUsedMiB) }},
	{"temperatureMilliC", func(d liveDevice) string { return integer(d.Readings.TemperatureMilliC) }},
	{"powerMilliW", func(d liveDevice) string { return integer(d.Readings.PowerMilliW) }},
	{"utilizationPercent", func(d liveDevice) string { return integer(d.Readings.UtilizationPercent) }},
	{"pcieMBps", func(d liveDevice) string { return integer(d.Readings.PCIeMBps) }},
	{"pcieMaxMBps", func(d liveDevice) string { return integer(d.Readings.PCIeMaxMBps) }},
	{"computeUnits", func(d liveDevice) string { return positive(d.ComputeUnits) }},
	{"cudaVersion", func(d liveDevice) string { return d.CUDAVersion }},
}

// cellsOf are the headers of columns, and a row for each device.
func cellsOf(columns []deviceColumn, devices []liveDevice) (header []string, rows [][]string) {
	rows = make([][]string, len(devices))
	for _, column := range columns {
		header = append(header, column.header)
		for i := range devices {
			rows[i] = append(rows[i], column.value(devices[i]))
		}
	}
	return header, rows
}

func deviceTable(devices []liveDevice, wide bool) (header []string, rows [][]string) {
	if !wide {
		return cellsOf(tableColumns[:tableWidth], devices)
	}
	empty := func(c deviceColumn) bool {
		return !slices.ContainsFunc(devices, func(d liveDevice) bool { return c.value(d) != "" })
	}
	optional := slices.DeleteFunc(slices.Clone(tableColumns[firstOptional:]), empty)
	return cellsOf(slices.Concat(tableColumns[:firstOptional], optional), devices)
}

// Limits of the table: what a terminal shows, and what is left of the names of products so that they can be told apart.
const (
	maxTable   = 120
	minProduct = 24
)

const productColumn = 1

// narrow shortens the names of products where the table is wider than a terminal.
func narrow(header []string, rows [][]string) {
	widths := make([]int, len(header))
	for _, row := range append([][]string{header}, rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	total := term.TableGap * (len(header) - 1)
	for _, width := range widths {
		total += width
	}
	most := max(minProduct, widths[productColumn]-(total-maxTable))
	for _, row := range rows {
		if utf8.RuneCountInString(row[productColumn]) > most {
			row[productColumn] = string([]rune(row[productColumn])[:most-1]) + "…"
		}
	}
}

// known prints a value that may be absent.
func known[T any](value *T, text func(T) string) string {
	if value == nil {
		return ""
	}
	return text(*value)
}

// integer prints a number that may be absent.
func integer[N int32 | int64](n *N) string {
	return known(n, func(n N) string { return fmt.Sprint(n) })
}

// positive prints a number of which 0 is none.
func positive[N int32 | int64](n N) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

// inThousands prints thousandths in the whole unit.
func inThousands(layout string) func(int64) string {
	return func(n int64) string { return fmt.Sprintf(layout, float64(n)/1000) }
}

// pcieText is what the PCI link can carry in one direction: now, and at most where that is more.
func pcieText(d liveDevice) string {
	now, most := known(d.Readings.PCIeMBps, inThousands("%.1f")), known(d.Readings.PCIeMaxMBps, inThousands("%.1f GB/s"))
	switch {
	case now == "" && most == "":
		return ""
	case now == "":
		return "at most " + most
	case most != "" && *d.Readings.PCIeMBps < *d.Readings.PCIeMaxMBps:
		return now + " of " + most
	default:
		return now + " GB/s"
	}
}

func partitionText(d liveDevice) string {
	return known(d.Partition, func(p v1alpha1.DevicePartition) string { return strings.TrimSpace(p.Kind + " " + p.Profile) })
}

// gbps prints MB/s as GB/s, and nothing where the rate is not known.
func gbps(mbps int64) string {
	if mbps == 0 {
		return ""
	}
	return fmt.Sprintf("%d GB/s", mbps/1000)
}
