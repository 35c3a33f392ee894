package nodeagent

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Names of the labels, after v1alpha1.Prefix and, for all but the first two, after the vendor and a dot.
const (
	labelAccelerator  = "accelerator"
	labelVendors      = "vendors"
	labelPresent      = "present"
	labelCount        = "count"
	labelHealthy      = "healthy"
	labelProduct      = "product"
	labelLink         = "link"
	labelLinkTopology = "link-topology"
)

// agreed are the labels that a vendor has only where all its devices on the node say the same.
var agreed = []struct {
	name string
	of   func(*v1alpha1.Device) string
}{
	{labelProduct, func(d *v1alpha1.Device) string { return d.Product }},
	{"architecture", func(d *v1alpha1.Device) string { return d.Architecture }},
	{"compute-capability", func(d *v1alpha1.Device) string { return d.ComputeCapability }},
	{"driver", func(d *v1alpha1.Device) string { return d.DriverVersion }},
	{"memory-mib", memoryLabel},
}

func memoryLabel(d *v1alpha1.Device) string {
	if d.Memory == nil || d.Memory.TotalMiB == 0 {
		return ""
	}
	return strconv.FormatInt(d.Memory.TotalMiB, 10)
}

// Labels computes the labels of a node from its inventory; docs/reference/labels.md lists them. A node without accelerators has
// none. Processors of the host are not counted. Every key and value is valid, and each vendor's labels depend on its own
// devices alone. That a node has accelerators is said where there is one with memory that work can use.
func Labels(status *v1alpha1.AcceleratorInventoryStatus) map[string]string {
	vendors := byVendor(status.Devices)
	labels := map[string]string{}
	if len(vendors) == 0 {
		return labels
	}
	names := slices.Sorted(maps.Keys(vendors))
	if slices.ContainsFunc(status.Devices, hasMemory) {
		labels[v1alpha1.Prefix+labelAccelerator] = "true"
	}
	labels[v1alpha1.Prefix+labelVendors] = labelValue(strings.Join(names, "."))
	for _, vendor := range names {
		for name, value := range vendorLabels(vendors[vendor], status.Links) {
			labels[v1alpha1.Prefix+labelValue(vendor+"."+name)] = value
		}
	}
	return labels
}

// hasMemory says whether a device that is no processor of the host has memory that work can use.
func hasMemory(d v1alpha1.Device) bool {
	return d.Family != v1alpha1.FamilyCPU && d.Memory != nil && d.Memory.TotalMiB > 0
}

func byVendor(devices []v1alpha1.Device) map[string][]*v1alpha1.Device {
	vendors := map[string][]*v1alpha1.Device{}
	for i := range devices {
		if d := &devices[i]; d.Family != v1alpha1.FamilyCPU {
			vendors[d.Vendor] = append(vendors[d.Vendor], d)
		}
	}
	return vendors
}

func vendorLabels(devices []*v1alpha1.Device, links v1alpha1.Links) map[string]string {
	labels := map[string]string{
		labelPresent: "true",
		labelCount:   strconv.Itoa(len(devices)),
		labelHealthy: strconv.Itoa(countHealthy(devices)),
	}
	for _, label := range agreed {
		if value, ok := common(devices, label.of); ok {
			labels[label.name] = labelValue(value)
		}
	}
	if _, same := labels[labelProduct]; !same {
		maps.Copy(labels, productCounts(devices))
	}
	if kind, topology := linkOf(devices, links); kind != "" {
		labels[labelLink] = labelValue(kind)
		if topology != "" {
			labels[labelLinkTopology] = labelValue(topology)
		}
	}
	return labels
}

func countHealthy(devices []*v1alpha1.Device) int {
	n := 0
	for _, d := range devices {
		if d.Health.State == v1alpha1.Healthy {
			n++
		}
	}
	return n
}

// common returns the one value that all devices have, if they have one.
func common[T comparable](devices []*v1alpha1.Device, of func(*v1alpha1.Device) T) (T, bool) {
	var none T
	value := of(devices[0])
	for _, d := range devices[1:] {
		if of(d) != value {
			return none, false
		}
	}
	return value, value != none
}

// productCounts counts a node's different products: `product.NVIDIA-L40S` -> `2`. Products whose names differ in
// replaced characters only are counted together.
func productCounts(devices []*v1alpha1.Device) map[string]string {
	counts := map[string]int{}
	for _, d := range devices {
		if d.Product != "" {
			counts[labelProduct+"."+labelValue(d.Product)]++
		}
	}
	labels := make(map[string]string, len(counts))
	for name, n := range counts {
		labels[name] = strconv.Itoa(n)
	}
	return labels
}
