package inventory

import (
	"maps"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// field is a property of a device that a selector can compare: a text, a number or a compute capability.
type field struct {
	texts  func(*v1alpha1.Device) []string
	number func(*v1alpha1.Device) (value float64, known bool)
	units  map[string]float64
	// version is a text that is compared number by number.
	version func(*v1alpha1.Device) string
}

func text(of func(*v1alpha1.Device) string) field {
	return field{texts: func(d *v1alpha1.Device) []string { return []string{of(d)} }}
}

// MemoryUnits are the units of memory, each in bytes.
var MemoryUnits = map[string]float64{
	"MB": 1e6, "MiB": 1 << 20, "GB": 1e9, "GiB": 1 << 30, "TB": 1e12, "TiB": 1 << 40,
}

// fields are the fields that a selector knows, by their names in lower case. Those of the API have the API's names.
var fields = map[string]field{
	"id":           text(func(d *v1alpha1.Device) string { return string(d.ID) }),
	"vendor":       text(func(d *v1alpha1.Device) string { return d.Vendor }),
	"family":       text(func(d *v1alpha1.Device) string { return string(d.Family) }),
	"backend":      text(func(d *v1alpha1.Device) string { return d.Backend }),
	"product":      text(func(d *v1alpha1.Device) string { return d.Product }),
	"architecture": text(func(d *v1alpha1.Device) string { return d.Architecture }),
	"driver":       text(func(d *v1alpha1.Device) string { return d.Driver }),
	"uuid":         text(func(d *v1alpha1.Device) string { return d.UUID }),
	"health":       text(func(d *v1alpha1.Device) string { return string(d.Health.State) }),
	"usable":       {texts: usableText},
	"precision":    {texts: precisions},
	"memory":       {number: totalBytes, units: MemoryUnits},
	"free":         {number: freeBytes, units: MemoryUnits},
	"bandwidth":    {number: bandwidth, units: map[string]float64{"GB/s": 1e9, "TB/s": 1e12}},
	"numanode":     {number: numaNode, units: map[string]float64{"": 1}},
	"computecapability": {
		version: func(d *v1alpha1.Device) string { return d.ComputeCapability },
	},
}

// FieldNames returns the fields that a selector knows, sorted.
func FieldNames() []string {
	shown := map[string]string{"numanode": "numaNode", "computecapability": "computeCapability"}
	names := slices.Sorted(maps.Keys(fields))
	for i, name := range names {
		if written, ok := shown[name]; ok {
			names[i] = written
		}
	}
	return names
}

func usableText(d *v1alpha1.Device) []string {
	if d.Usable() {
		return []string{"true"}
	}
	return []string{"false"}
}

// precisions returns the precisions that the product computes natively.
func precisions(d *v1alpha1.Device) []string {
	var names []string
	if d.Performance != nil {
		for _, rate := range d.Performance.Peak {
			names = append(names, string(rate.Precision))
		}
	}
	return names
}

func totalBytes(d *v1alpha1.Device) (float64, bool) {
	if d.Memory == nil {
		return 0, false
	}
	return float64(d.Memory.TotalMiB) * (1 << 20), true
}

func freeBytes(d *v1alpha1.Device) (float64, bool) {
	return float64(d.FreeMiB()) * (1 << 20), d.Memory != nil
}

func bandwidth(d *v1alpha1.Device) (float64, bool) {
	mbps := bandwidthMBps(d)
	return float64(mbps) * 1e6, mbps > 0
}

func bandwidthMBps(d *v1alpha1.Device) int64 {
	if d.Performance == nil {
		return 0
	}
	return d.Performance.MemoryBandwidthMBps
}

func numaNode(d *v1alpha1.Device) (float64, bool) {
	if d.NUMANode == nil {
		return 0, false
	}
	return float64(*d.NUMANode), true
}

// fieldOf finds the field of a term in any case.
func fieldOf(t Term) (field, error) {
	f, ok := fields[strings.ToLower(t.Field)]
	if !ok {
		return field{}, t.BadField("use one of " + strings.Join(FieldNames(), ", "))
	}
	return f, nil
}
