package inventory

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
)

// field is a property of a device that a selector can compare: a text, a number or a compute capability.
type field struct {
	name  string
	texts func(*v1alpha1.Device) []string
	// means turns another word for a text into the text.
	means  func(string) string
	number func(*v1alpha1.Device) (value float64, known bool)
	units  map[string]float64
	// version is a text that is compared number by number.
	version func(*v1alpha1.Device) string
}

func text(name string, of func(*v1alpha1.Device) string) field {
	return field{name: name, texts: func(d *v1alpha1.Device) []string { return []string{of(d)} }}
}

// meaning is a field of which people use other words, too.
func meaning(f field, means func(string) string) field {
	f.means = means
	return f
}

// MemoryUnits are the units of memory, each in bytes.
var MemoryUnits = map[string]float64{
	"MB": 1e6, "MiB": 1 << 20, "GB": 1e9, "GiB": 1 << 30, "TB": 1e12, "TiB": 1 << 40,
}

// fields are the fields that a selector knows, in order of name. Those of the API have the API's names.
var fields = []field{
	text("architecture", func(d *v1alpha1.Device) string { return d.Architecture }),
	meaning(text("backend", func(d *v1alpha1.Device) string { return d.Backend }), accelerator.Backend),
	{name: "bandwidth", number: bandwidth, units: map[string]float64{"GB/s": 1e9, "TB/s": 1e12}},
	{name: "computeCapability", version: func(d *v1alpha1.Device) string { return d.ComputeCapability }},
	text("driver", func(d *v1alpha1.Device) string { return d.Driver }),
	text("family", func(d *v1alpha1.Device) string { return string(d.Family) }),
	{name: "free", number: freeBytes, units: MemoryUnits},
	text("health", func(d *v1alpha1.Device) string { return string(d.Health.State) }),
	text("id", func(d *v1alpha1.Device) string { return string(d.ID) }),
	{name: "memory", number: totalBytes, units: MemoryUnits},
	{name: "numaNode", number: numaNode, units: map[string]float64{"": 1}},
	{name: "precision", texts: precisions},
	text("product", func(d *v1alpha1.Device) string { return d.Product }),
	text("usable", func(d *v1alpha1.Device) string { return strconv.FormatBool(d.Usable()) }),
	text("uuid", func(d *v1alpha1.Device) string { return d.UUID }),
	meaning(text("vendor", func(d *v1alpha1.Device) string { return d.Vendor }), accelerator.Vendor),
}

// FieldNames returns the fields that a selector knows, sorted.
func FieldNames() []string { return namesOf(fields, func(f *field) string { return f.name }) }

// namesOf returns the names of the rows of a table.
func namesOf[T any](rows []T, nameOf func(*T) string) []string {
	names := make([]string, len(rows))
	for i := range rows {
		names[i] = nameOf(&rows[i])
	}
	return names
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
	at := slices.IndexFunc(fields, func(f field) bool { return strings.EqualFold(f.name, t.Field) })
	if at < 0 {
		return field{}, t.BadField("use one of " + strings.Join(FieldNames(), ", "))
	}
	return fields[at], nil
}
