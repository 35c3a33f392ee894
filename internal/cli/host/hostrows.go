package host

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/cli/term"
	"github.com/rankwright/rankwright/internal/words"
)

// hostRows are what is said of the host itself.
func hostRows(name string, status *v1alpha1.AcceleratorInventoryStatus, wide bool) [][2]string {
	host := &status.Host
	rows := [][2]string{
		{"Host", name},
		{"CPU", cpuText(&host.CPU)},
		term.RowIf(host.Memory.TotalMiB > 0, "Memory", words.HumanMiB(host.Memory.TotalMiB)),
		term.RowIf(status.Summary.Devices > 0, "Devices", devicesText(&status.Summary)),
	}
	if wide {
		rows = append(rows, [2]string{"System", strings.TrimSpace(host.OS + " " + host.Kernel)})
		for _, row := range [][2]string{{"Cloud", cloudText(host)}, {"Container", containerText(host)}, {"Storage", storageText(status.Storage)}} {
			rows = append(rows, term.RowIf(row[1] != "", row[0], row[1]))
		}
		rows = append(rows, [2]string{"Backends", backendsText(status.Backends)})
	}
	return slices.DeleteFunc(rows, func(row [2]string) bool { return row[0] == "" })
}

func devicesText(s *v1alpha1.InventorySummary) string {
	text := fmt.Sprintf("%d, %d healthy", s.Devices, s.Healthy)
	if s.MemoryMiB == 0 {
		return text
	}
	return fmt.Sprintf("%s, %s of %s free", text, s.Free, s.Memory)
}

func cpuText(c *v1alpha1.CPU) string {
	threads := words.Counted(c.Threads, "thread")
	switch {
	case c.Threads == 0:
		return c.Model
	case c.Model == "":
		return threads
	default:
		return fmt.Sprintf("%s (%s)", c.Model, threads)
	}
}

// cloudText names cloud, instance type and place: the zone alone where its name begins with the region's.
func cloudText(h *v1alpha1.Host) string {
	place := h.Region + " " + h.Zone
	if strings.HasPrefix(h.Zone, h.Region) {
		place = h.Zone
	}
	return strings.Join(strings.Fields(h.Cloud+" "+h.InstanceType+" "+place), " ")
}

func containerText(h *v1alpha1.Host) string {
	if h.Kubernetes {
		return strings.TrimPrefix(h.Container+", in a pod", ", ")
	}
	return h.Container
}

// storageText counts disks by their kind: 2 NVMe of 7.0 TiB.
func storageText(disks []v1alpha1.StorageDevice) string {
	counts, sizes := map[string]int{}, map[string]int64{}
	for i := range disks {
		counts[disks[i].Kind]++
		sizes[disks[i].Kind] += disks[i].SizeMiB
	}
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s of %s", counts[kind], kind, words.HumanMiB(sizes[kind])))
	}
	return strings.Join(parts, ", ")
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
