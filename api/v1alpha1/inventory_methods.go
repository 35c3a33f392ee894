package v1alpha1

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Vendor is the vendor part of the id (`nvidia` of `nvidia-0000:17:00.0`).
func (id DeviceID) Vendor() string {
	vendor, _, _ := strings.Cut(string(id), "-")
	return vendor
}

// Usable says whether new work may be put on the device: what is Unhealthy may not be, nor what is Unknown, unless it is
// so only because nothing monitors it.
func (d *Device) Usable() bool {
	switch d.Health.State {
	case Healthy, Degraded:
		return true
	case Unknown:
		return d.Health.Reason == ReasonNotMonitored
	default:
		return false
	}
}

// FreeMiB is the memory in MiB that strangers leave.
func (d *Device) FreeMiB() int64 {
	if d.Memory == nil {
		return 0
	}
	return max(0, d.Memory.TotalMiB-d.Memory.UsedByOthersMiB)
}

// Device returns the device with the id, or nil.
func (s *AcceleratorInventoryStatus) Device(id DeviceID) *Device {
	for i := range s.Devices {
		if s.Devices[i].ID == id {
			return &s.Devices[i]
		}
	}
	return nil
}

// Summarize computes the summary of the status as it is; cordoned devices and those that a pod holds are not free.
func (s *AcceleratorInventoryStatus) Summarize(spec AcceleratorInventorySpec) InventorySummary {
	held := map[DeviceID]bool{}
	for _, id := range spec.CordonedDevices {
		held[id] = true
	}
	for _, a := range s.Allocations {
		held[a.Device] = true
	}
	sum := InventorySummary{Devices: int32(len(s.Devices))}
	products, drivers, links := map[string]int{}, map[string]int{}, map[string]int{}
	for i := range s.Devices {
		d := &s.Devices[i]
		if d.Health.State == Healthy {
			sum.Healthy++
		}
		if d.Memory != nil {
			sum.MemoryMiB += d.Memory.TotalMiB
		}
		if d.Usable() && !held[d.ID] {
			sum.FreeMiB += d.FreeMiB()
		}
		if d.Product != "" {
			products[d.Product]++
		}
		if d.Driver != "" {
			drivers[strings.TrimSpace(d.Driver+" "+d.DriverVersion)]++
		}
	}
	for _, domain := range s.Links.Domains {
		links[domain.Kind]++
	}
	for _, pair := range s.Links.Pairs {
		links[pair.Kind]++
	}
	sum.Products = clip(listed(products), 512)
	sum.Drivers = clip(strings.Join(sortedKeys(drivers), ", "), 256)
	sum.Links = clip(strings.Join(sortedKeys(links), ", "), 128)
	if sum.Devices > 0 {
		sum.Memory, sum.Free = HumanMiB(sum.MemoryMiB), HumanMiB(sum.FreeMiB)
	}
	return sum
}

// HumanMiB prints an amount of memory in MiB with one decimal of the unit that people would choose.
func HumanMiB(mib int64) string {
	switch {
	case mib >= 1<<20:
		return strconv.FormatFloat(float64(mib)/(1<<20), 'f', 1, 64) + " TiB"
	case mib >= 1<<10:
		return strconv.FormatFloat(float64(mib)/(1<<10), 'f', 1, 64) + " GiB"
	default:
		return strconv.FormatInt(mib, 10) + " MiB"
	}
}

// HumanBytes is HumanMiB for bytes, rounded up to a MiB.
func HumanBytes(bytes int64) string { return HumanMiB((bytes + 1<<20 - 1) >> 20) }

// Counted prints a number of things: 1 copy, 2 copies, 3 devices.
func Counted[N int | int32 | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	number := strconv.FormatInt(int64(n), 10)
	if stem, found := strings.CutSuffix(noun, "y"); found {
		return number + " " + stem + "ies"
	}
	return number + " " + noun + "s"
}

func listed(counts map[string]int) string {
	parts := make([]string, 0, len(counts))
	for _, name := range sortedKeys(counts) {
		parts = append(parts, fmt.Sprintf("%dx %s", counts[name], name))
	}
	return strings.Join(parts, ", ")
}

func sortedKeys(m map[string]int) []string { return slices.Sorted(maps.Keys(m)) }

// clip shortens a text to at most n bytes, at the border of a rune, and shows that it did.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const mark = "…"
	return strings.ToValidUTF8(s[:n-len(mark)], "") + mark
}
