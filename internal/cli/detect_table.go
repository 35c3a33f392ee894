package cli

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect"
)

// printInventory prints a host, its devices and what connects them; without headers the rows of the devices alone.
func printInventory(w io.Writer, shown *v1alpha1.AcceleratorInventory, readings detect.Readings, wide, headers bool) error {
	status := &shown.Status
	header, rows := deviceTable(status.Devices, readings, wide)
	if !headers {
		return table(w, nil, rows)
	}
	if err := sheet(w, hostRows(shown.Name, status, wide)); err != nil {
		return err
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintln(w, "\n"+nothingFound(status.Backends))
		return err
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	if err := table(w, header, rows); err != nil {
		return err
	}
	if err := printComplaints(w, status.Devices); err != nil {
		return err
	}
	if err := printLinks(w, &status.Links); err != nil || !wide {
		return err
	}
	return printTopology(w, status)
}

// printComplaints says why devices are not healthy, once for all that have the same reason.
func printComplaints(w io.Writer, devices []v1alpha1.Device) error {
	concerned := map[string][]v1alpha1.DeviceID{}
	for i := range devices {
		h := &devices[i].Health
		if h.State == v1alpha1.Healthy || h.Reason == "" && h.Message == "" {
			continue
		}
		why := strings.TrimSpace(string(h.State) + " " + h.Reason)
		if h.Message != "" {
			why += ": " + h.Message
		}
		concerned[why] = append(concerned[why], devices[i].ID)
	}
	for _, why := range slices.Sorted(maps.Keys(concerned)) {
		if _, err := fmt.Fprintf(w, "\n%s\n  %s\n", printable(why), ids(concerned[why])); err != nil {
			return err
		}
	}
	return nil
}

// nothingFound tells a host without accelerators from one whose devices are not selected.
func nothingFound(backends []v1alpha1.BackendStatus) string {
	var found int32
	for _, b := range backends {
		found += b.Devices
	}
	if found == 0 {
		return "No accelerators found."
	}
	return fmt.Sprintf("No device is selected: the host has %s.", v1alpha1.Counted(found, "device"))
}

func hostRows(name string, status *v1alpha1.AcceleratorInventoryStatus, wide bool) [][2]string {
	host := &status.Host
	rows := [][2]string{{"Host", name}, {"CPU", cpuText(&host.CPU)}}
	if host.Memory.TotalMiB > 0 {
		rows = append(rows, [2]string{"Memory", v1alpha1.HumanMiB(host.Memory.TotalMiB)})
	}
	if s := status.Summary; s.Devices > 0 {
		rows = append(rows, [2]string{"Devices", fmt.Sprintf("%d, %d healthy, %s of %s free", s.Devices, s.Healthy, s.Free, s.Memory)})
	}
	if wide {
		rows = append(rows,
			[2]string{"System", strings.TrimSpace(host.OS + " " + host.Kernel)},
			[2]string{"Backends", backendsText(status.Backends)})
	}
	return rows
}

func cpuText(c *v1alpha1.CPU) string {
	if c.Threads == 0 {
		return c.Model
	}
	return strings.TrimSpace(fmt.Sprintf("%s (%d threads)", c.Model, c.Threads))
}

// backendsText names the backends that found something or could not look, and counts the others.
func backendsText(backends []v1alpha1.BackendStatus) string {
	var parts []string
	absent := 0
	for _, b := range backends {
		if b.State == v1alpha1.BackendAbsent {
			absent++
			continue
		}
		parts = append(parts, fmt.Sprintf("%s %s", b.Name, b.State))
	}
	if absent > 0 {
		parts = append(parts, fmt.Sprintf("%d found nothing", absent))
	}
	return strings.Join(parts, ", ")
}

// Columns of the tables. The last ones of the wide table are left out where no device has anything in them.
var (
	columnNames     = []string{"ID", "PRODUCT", "MEMORY", "FREE", "NUMA", "DRIVER", "HEALTH"}
	wideColumnNames = append(slices.Clone(columnNames), "FAMILY", "ARCHITECTURE", "BANDWIDTH", "USED", "TEMP", "POWER", "UTIL", "PARTITION", "UUID")
)

const firstOptionalColumn = 10

func deviceTable(devices []v1alpha1.Device, readings detect.Readings, wide bool) (header []string, rows [][]string) {
	for i := range devices {
		d := &devices[i]
		rows = append(rows, deviceRow(d, readings[d.ID], wide))
	}
	if !wide {
		return columnNames, rows
	}
	header = slices.Clone(wideColumnNames)
	for column := len(header) - 1; column >= firstOptionalColumn; column-- {
		if slices.ContainsFunc(rows, func(row []string) bool { return row[column] != "" }) {
			continue
		}
		header = slices.Delete(header, column, column+1)
		for i := range rows {
			rows[i] = slices.Delete(rows[i], column, column+1)
		}
	}
	return header, rows
}

func deviceRow(d *v1alpha1.Device, r detect.Reading, wide bool) []string {
	row := []string{
		string(d.ID), d.Product, "", "", integer(d.NUMANode), strings.TrimSpace(d.Driver + " " + d.DriverVersion), string(d.Health.State),
	}
	if d.Memory != nil {
		row[2], row[3] = v1alpha1.HumanMiB(d.Memory.TotalMiB), v1alpha1.HumanMiB(d.FreeMiB())
	}
	if !wide {
		return row
	}
	bandwidth := ""
	if d.Performance != nil && d.Performance.MemoryBandwidthMBps > 0 {
		bandwidth = gbps(d.Performance.MemoryBandwidthMBps)
	}
	row = append(row, string(d.Family), d.Architecture, bandwidth)
	row = append(row, readingCells(r)...)
	return append(row, partitionText(d), d.UUID)
}

// readingCells are memory used, temperature, power and utilization, empty where nothing reports them.
func readingCells(r detect.Reading) []string {
	cells := make([]string, 4)
	if r.MemoryUsedMiB != nil {
		cells[0] = v1alpha1.HumanMiB(*r.MemoryUsedMiB)
	}
	if value, ok := thousandths(r.TemperatureMilliC); ok {
		cells[1] = fmt.Sprintf("%.0f C", value)
	}
	if value, ok := thousandths(r.PowerMilliW); ok {
		cells[2] = fmt.Sprintf("%.0f W", value)
	}
	if r.UtilizationPercent != nil {
		cells[3] = fmt.Sprintf("%d%%", *r.UtilizationPercent)
	}
	return cells
}

func partitionText(d *v1alpha1.Device) string {
	if d.Partition == nil {
		return ""
	}
	return strings.TrimSpace(d.Partition.Kind + " " + d.Partition.Profile)
}

// gbps prints MB/s as GB/s.
func gbps(mbps int64) string { return fmt.Sprintf("%d GB/s", mbps/1000) }

func printLinks(w io.Writer, links *v1alpha1.Links) error {
	var rows [][]string
	for _, d := range links.Domains {
		rows = append(rows, []string{d.Kind, domainText(&d), gbps(d.DeviceMBps), ids(d.Members)})
	}
	for _, p := range links.Pairs {
		rows = append(rows, []string{p.Kind, "pair, " + v1alpha1.Counted(p.Count, "link"), gbps(p.MBps), ids([]v1alpha1.DeviceID{p.A, p.B})})
	}
	if len(rows) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return table(w, []string{"LINK", "TOPOLOGY", "PER DEVICE", "MEMBERS"}, rows)
}

// domainText is a domain's topology, with its shape where it has one.
func domainText(d *v1alpha1.LinkDomain) string {
	text := strings.ToLower(string(d.Topology))
	for i, size := range d.Shape {
		text += fmt.Sprintf("%s%d", []string{" ", "x"}[min(i, 1)], size)
	}
	return text
}
