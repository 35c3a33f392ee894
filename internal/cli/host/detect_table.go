package host

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/inventory"
)

// printInventory prints a host, its devices and what connects them; without headers the rows of the devices alone.
func printInventory(w io.Writer, shown *v1alpha1.AcceleratorInventory, readings backend.Readings, wide, headers bool) error {
	status := &shown.Status
	header, rows := deviceTable(status.Devices, readings, wide)
	if !headers {
		return term.Table(w, nil, rows)
	}
	if err := term.Sheet(w, hostRows(shown.Name, status, wide)); err != nil {
		return err
	}
	for _, part := range []func(io.Writer) error{
		func(w io.Writer) error { return printDevices(w, status, header, rows, wide) },
		func(w io.Writer) error { return printShared(w, status.Devices) },
		func(w io.Writer) error { return printComplaints(w, status.Devices) },
		func(w io.Writer) error { return printLinks(w, status) },
	} {
		if err := part(w); err != nil {
			return err
		}
	}
	if !wide {
		return nil
	}
	return printTopology(w, status)
}

func printDevices(w io.Writer, status *v1alpha1.AcceleratorInventoryStatus, header []string, rows [][]string, wide bool) error {
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	if len(rows) == 0 {
		_, err := fmt.Fprintln(w, nothingFound(status.Backends))
		return err
	}
	if !wide {
		narrow(header, rows)
	}
	return term.Table(w, header, rows)
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

// printComplaints says why devices are not healthy, once for all that have the same reason.
func printComplaints(w io.Writer, devices []v1alpha1.Device) error {
	for _, warning := range inventory.Warnings(&v1alpha1.AcceleratorInventoryStatus{Devices: devices}) {
		if _, err := fmt.Fprintf(w, "\n%s\n  %s\n", term.Printable(warningText(warning)), term.IDs(warning.Devices)); err != nil {
			return err
		}
	}
	return nil
}

// warningText says what is the matter: state and reason, and the message where there is one.
func warningText(warning inventory.Warning) string {
	why := strings.TrimSpace(warning.State + " " + warning.Reason)
	if warning.Message != "" {
		why += ": " + warning.Message
	}
	return why
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
	return fmt.Sprintf("No device is selected: the host has %s.", words.Counted(found, "device"))
}

// Columns of the tables. The last ones of the wide table are left out where no device has anything in them.
var (
	columnNames     = []string{"ID", "PRODUCT", "MEMORY", "FREE", "NUMA", "DRIVER", "HEALTH"}
	readingColumns  = []string{"USED", "TEMP", "POWER", "UTIL", "PCIE"}
	wideColumnNames = slices.Concat(columnNames, []string{"FAMILY", "ARCHITECTURE", "BANDWIDTH"}, readingColumns, []string{"UNITS", "CUDA", "PARTITION", "UUID"})
)

const firstOptionalColumn = 10

func deviceTable(devices []v1alpha1.Device, readings backend.Readings, wide bool) (header []string, rows [][]string) {
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

func deviceRow(d *v1alpha1.Device, r backend.Reading, wide bool) []string {
	row := []string{
		string(d.ID), d.Product, "", "", integer(d.NUMANode), strings.TrimSpace(d.Driver + " " + d.DriverVersion), string(d.Health.State),
	}
	if d.Memory != nil {
		row[2], row[3] = words.HumanMiB(d.Memory.TotalMiB), words.HumanMiB(d.FreeMiB())
	}
	if !wide {
		return row
	}
	bandwidth := ""
	if d.Performance != nil {
		bandwidth = gbps(d.Performance.MemoryBandwidthMBps)
	}
	row = append(row, string(d.Family), d.Architecture, bandwidth)
	row = append(row, readingCells(r)...)
	return append(row, unitsText(d), d.CUDAVersion, partitionText(d), d.UUID)
}

// readingCells are what stands under readingColumns: memory used, temperature, power, utilization, and what the PCI link can
// carry. What nothing reports is empty.
func readingCells(r backend.Reading) []string {
	cells := make([]string, len(readingColumns))
	if r.MemoryUsedMiB != nil {
		cells[0] = words.HumanMiB(*r.MemoryUsedMiB)
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
	cells[4] = pcieText(r)
	return cells
}

// pcieText is what the PCI link can carry in one direction: now, and at most where that is more.
func pcieText(r backend.Reading) string {
	now, knownNow := thousandths(r.PCIeMBps)
	most, knownMost := thousandths(r.PCIeMaxMBps)
	switch {
	case knownNow && knownMost && now < most:
		return fmt.Sprintf("%.1f of %.1f GB/s", now, most)
	case knownNow:
		return fmt.Sprintf("%.1f GB/s", now)
	case knownMost:
		return fmt.Sprintf("at most %.1f GB/s", most)
	default:
		return ""
	}
}

func unitsText(d *v1alpha1.Device) string {
	if d.ComputeUnits == 0 {
		return ""
	}
	return strconv.Itoa(int(d.ComputeUnits))
}

func partitionText(d *v1alpha1.Device) string {
	if d.Partition == nil {
		return ""
	}
	return strings.TrimSpace(d.Partition.Kind + " " + d.Partition.Profile)
}

// gbps prints MB/s as GB/s, and nothing where the rate is not known.
func gbps(mbps int64) string {
	if mbps == 0 {
		return ""
	}
	return fmt.Sprintf("%d GB/s", mbps/1000)
}

func printLinks(w io.Writer, status *v1alpha1.AcceleratorInventoryStatus) error {
	wholes := map[v1alpha1.DeviceID]v1alpha1.DeviceID{}
	for i := range status.Devices {
		wholes[status.Devices[i].ID] = status.Devices[i].Whole()
	}
	var rows [][]string
	for i := range status.Links.Domains {
		d := &status.Links.Domains[i]
		rows = append(rows, []string{d.Kind, domainText(d), gbps(d.DeviceMBps), membersText(d.Members, wholes)})
	}
	for _, p := range status.Links.Pairs {
		members := membersText([]v1alpha1.DeviceID{p.A, p.B}, wholes)
		rows = append(rows, []string{p.Kind, "pair, " + words.Counted(p.Count, "link"), gbps(p.MBps), members})
	}
	if len(rows) == 0 {
		return nil
	}
	if _, err := fmt.Fprintln(w); err != nil {
		return err
	}
	return term.Table(w, []string{"LINK", "TOPOLOGY", "PER DEVICE", "MEMBERS"}, rows)
}

// maxMembers keeps the members of a link in a line.
const maxMembers = 80

// membersText names devices in a line: partitions by their devices where they are too many.
func membersText(members []v1alpha1.DeviceID, wholes map[v1alpha1.DeviceID]v1alpha1.DeviceID) string {
	if text := term.IDs(members); len(text) <= maxMembers {
		return text
	}
	var devices []v1alpha1.DeviceID
	for _, id := range members {
		if whole := wholes[id]; !slices.Contains(devices, whole) {
			devices = append(devices, whole)
		}
	}
	text := words.Shorten(term.IDs(devices), maxMembers)
	if len(devices) == len(members) {
		return text
	}
	return fmt.Sprintf("%d partitions of %s", len(members), text)
}

// domainText is a domain's topology, with its shape where it has one.
func domainText(d *v1alpha1.LinkDomain) string {
	text := strings.ToLower(string(d.Topology))
	for i, size := range d.Shape {
		text += fmt.Sprintf("%s%d", []string{" ", "x"}[min(i, 1)], size)
	}
	return text
}
