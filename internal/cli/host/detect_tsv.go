package host

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/pkg/detect/backend"
)

// tsvColumns are the columns of -o tsv: numbers without units, and nothing where nothing is known. New columns come at the end.
var tsvColumns = []struct {
	header string
	value  func(d *v1alpha1.Device, r backend.Reading) string
}{
	{"id", func(d *v1alpha1.Device, _ backend.Reading) string { return string(d.ID) }},
	{"vendor", func(d *v1alpha1.Device, _ backend.Reading) string { return d.Vendor }},
	{"family", func(d *v1alpha1.Device, _ backend.Reading) string { return string(d.Family) }},
	{"product", func(d *v1alpha1.Device, _ backend.Reading) string { return d.Product }},
	{"architecture", func(d *v1alpha1.Device, _ backend.Reading) string { return d.Architecture }},
	{"backend", func(d *v1alpha1.Device, _ backend.Reading) string { return d.Backend }},
	{"driver", func(d *v1alpha1.Device, _ backend.Reading) string { return d.Driver }},
	{"driverVersion", func(d *v1alpha1.Device, _ backend.Reading) string { return d.DriverVersion }},
	{"numaNode", func(d *v1alpha1.Device, _ backend.Reading) string { return integer(d.NUMANode) }},
	{"memoryMiB", func(d *v1alpha1.Device, _ backend.Reading) string {
		if d.Memory == nil {
			return ""
		}
		return strconv.FormatInt(d.Memory.TotalMiB, 10)
	}},
	{"freeMiB", func(d *v1alpha1.Device, _ backend.Reading) string {
		if d.Memory == nil {
			return ""
		}
		return strconv.FormatInt(d.FreeMiB(), 10)
	}},
	{"memoryBandwidthMBps", func(d *v1alpha1.Device, _ backend.Reading) string {
		if d.Performance == nil || d.Performance.MemoryBandwidthMBps == 0 {
			return ""
		}
		return strconv.FormatInt(d.Performance.MemoryBandwidthMBps, 10)
	}},
	{"partition", func(d *v1alpha1.Device, _ backend.Reading) string { return partitionText(d) }},
	{"uuid", func(d *v1alpha1.Device, _ backend.Reading) string { return d.UUID }},
	{"health", func(d *v1alpha1.Device, _ backend.Reading) string { return string(d.Health.State) }},
	{"healthReason", func(d *v1alpha1.Device, _ backend.Reading) string { return d.Health.Reason }},
	{"memoryUsedMiB", func(_ *v1alpha1.Device, r backend.Reading) string { return integer(r.MemoryUsedMiB) }},
	{"temperatureMilliC", func(_ *v1alpha1.Device, r backend.Reading) string { return integer(r.TemperatureMilliC) }},
	{"powerMilliW", func(_ *v1alpha1.Device, r backend.Reading) string { return integer(r.PowerMilliW) }},
	{"utilizationPercent", func(_ *v1alpha1.Device, r backend.Reading) string { return integer(r.UtilizationPercent) }},
	{"pcieMBps", func(_ *v1alpha1.Device, r backend.Reading) string { return integer(r.PCIeMBps) }},
	{"pcieMaxMBps", func(_ *v1alpha1.Device, r backend.Reading) string { return integer(r.PCIeMaxMBps) }},
	{"computeUnits", func(d *v1alpha1.Device, _ backend.Reading) string { return unitsText(d) }},
	{"cudaVersion", func(d *v1alpha1.Device, _ backend.Reading) string { return d.CUDAVersion }},
}

func printTSV(w io.Writer, devices []v1alpha1.Device, readings backend.Readings, headers bool) error {
	cells := make([]string, len(tsvColumns))
	if headers {
		for i, column := range tsvColumns {
			cells[i] = column.header
		}
		if _, err := fmt.Fprintln(w, strings.Join(cells, "\t")); err != nil {
			return err
		}
	}
	for i := range devices {
		for c, column := range tsvColumns {
			cells[c] = term.Printable(column.value(&devices[i], readings[devices[i].ID]))
		}
		if _, err := fmt.Fprintln(w, strings.Join(cells, "\t")); err != nil {
			return err
		}
	}
	return nil
}

// integer prints a number that may be absent.
func integer[N int32 | int64](n *N) string {
	if n == nil {
		return ""
	}
	return strconv.FormatInt(int64(*n), 10)
}
