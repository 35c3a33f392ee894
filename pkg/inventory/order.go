package inventory

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
)

// sortOrder is an order of devices, and its name.
type sortOrder struct {
	key     string
	compare func(a, b *v1alpha1.Device) int
}

// orders are the sort keys, in the order in which to offer them. Amounts sort from the largest, with unknown ones last.
var orders = []sortOrder{
	{"id", func(*v1alpha1.Device, *v1alpha1.Device) int { return 0 }},
	{"best", compareBest},
	{"memory", byAmount(totalBytes, -1)},
	{"free", byAmount(freeBytes, -1)},
	{"bandwidth", byAmount(bandwidth, -1)},
	{"product", func(a, b *v1alpha1.Device) int {
		return cmp.Or(trueFirst(a.Product != "", b.Product != ""), cmp.Compare(a.Product, b.Product))
	}},
	{"numa", byAmount(numaNode, 1)},
	{"health", func(a, b *v1alpha1.Device) int { return cmp.Compare(healthRank(a), healthRank(b)) }},
}

// SortKeys are the keys of Sort, in the order in which to offer them.
var SortKeys = namesOf(orders, func(o *sortOrder) string { return o.key })

// Sort returns the devices in the order of a key; equal ones in the order of their ids.
func Sort(devices []v1alpha1.Device, key string) ([]v1alpha1.Device, error) {
	at := slices.Index(SortKeys, key)
	if at < 0 {
		return nil, fmt.Errorf("sort key %q: use one of %s", words.Echo(key), strings.Join(SortKeys, ", "))
	}
	sorted := slices.Clone(devices)
	slices.SortStableFunc(sorted, func(a, b v1alpha1.Device) int {
		return cmp.Or(orders[at].compare(&a, &b), cmp.Compare(a.ID, b.ID))
	})
	return sorted, nil
}

// compareBest orders devices by preference for new work, the better one first: usable before unusable, then by peak rate
// at 16 bits (BF16 or FP16), by memory bandwidth, by free memory, by id. No two devices of an inventory are equal in it.
func compareBest(a, b *v1alpha1.Device) int {
	return cmp.Or(
		trueFirst(a.Usable(), b.Usable()),
		cmp.Compare(peak16(b), peak16(a)),
		cmp.Compare(bandwidthMBps(b), bandwidthMBps(a)),
		cmp.Compare(b.FreeMiB(), a.FreeMiB()),
		cmp.Compare(a.ID, b.ID),
	)
}

// Best returns the best device for new work, by compareBest; false where there is none. The host's own processors do not
// count.
func Best(inventory *v1alpha1.AcceleratorInventory) (v1alpha1.Device, bool) {
	free := Pick(inventory.Status.Devices, All(accelerators, available(inventory)))
	if len(free) == 0 {
		return v1alpha1.Device{}, false
	}
	return slices.MinFunc(free, func(a, b v1alpha1.Device) int { return compareBest(&a, &b) }), true
}

// peak16 returns the better of the rates at 16 bits in GFLOPS; 0 where none is known.
func peak16(d *v1alpha1.Device) int64 {
	var best int64
	if d.Performance == nil {
		return 0
	}
	for _, rate := range d.Performance.Peak {
		if rate.Precision == v1alpha1.BF16 || rate.Precision == v1alpha1.FP16 {
			best = max(best, rate.GFLOPS)
		}
	}
	return best
}

// byAmount orders devices by an amount, times a sign, with those whose amount is not known last.
func byAmount(value func(*v1alpha1.Device) (float64, bool), sign int) func(a, b *v1alpha1.Device) int {
	return func(a, b *v1alpha1.Device) int {
		x, knownX := value(a)
		y, knownY := value(b)
		return cmp.Or(trueFirst(knownX, knownY), sign*cmp.Compare(x, y))
	}
}

func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}

// healthRank orders states of health by how much they need attention.
func healthRank(d *v1alpha1.Device) int {
	return slices.Index([]v1alpha1.HealthState{v1alpha1.Unhealthy, v1alpha1.Unknown, v1alpha1.Degraded, v1alpha1.Healthy}, d.Health.State)
}
