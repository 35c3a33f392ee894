package inventory

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
)

// Summarize computes the summary of a status as it is; cordoned devices and those that a pod holds are not free.
func Summarize(spec v1alpha1.AcceleratorInventorySpec, s *v1alpha1.AcceleratorInventoryStatus) v1alpha1.InventorySummary {
	held := sets.New(held(spec, s)...)
	sum := v1alpha1.InventorySummary{Devices: int32(len(s.Devices)), MemoryMiB: Sum(s.Devices).MemoryMiB}
	products, drivers, links := map[string]int{}, sets.New[string](), sets.New[string]()
	for i := range s.Devices {
		d := &s.Devices[i]
		if d.Health.State == v1alpha1.Healthy {
			sum.Healthy++
		}
		if d.Usable() && !held.Has(d.ID) {
			sum.FreeMiB += d.FreeMiB()
		}
		if d.Product != "" {
			products[d.Product]++
		}
		if d.Driver != "" {
			drivers.Insert(strings.TrimSpace(d.Driver + " " + d.DriverVersion))
		}
	}
	for _, domain := range s.Links.Domains {
		links.Insert(domain.Kind)
	}
	for _, pair := range s.Links.Pairs {
		links.Insert(pair.Kind)
	}
	sum.Products = words.Shorten(listed(products), 512)
	sum.Drivers = words.Shorten(strings.Join(sets.List(drivers), ", "), 256)
	sum.Links = words.Shorten(strings.Join(sets.List(links), ", "), 128)
	if sum.Devices > 0 {
		sum.Memory, sum.Free = words.HumanMiB(sum.MemoryMiB), words.HumanMiB(sum.FreeMiB)
	}
	return sum
}

func listed(counts map[string]int) string {
	parts := make([]string, 0, len(counts))
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%dx %s", counts[name], name))
	}
	return strings.Join(parts, ", ")
}
