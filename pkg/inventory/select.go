package inventory

import (
	"path"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Selector says whether a device is meant.
type Selector func(*v1alpha1.Device) bool

// All selects the devices that every selector selects; all devices where there are none.
func All(selectors ...Selector) Selector {
	return func(d *v1alpha1.Device) bool {
		return !slices.ContainsFunc(selectors, func(s Selector) bool { return !s(d) })
	}
}

// Any selects the devices that at least one selector selects.
func Any(selectors ...Selector) Selector {
	return func(d *v1alpha1.Device) bool {
		return slices.ContainsFunc(selectors, func(s Selector) bool { return s(d) })
	}
}

// Not selects the devices that the selector does not select.
func Not(selector Selector) Selector {
	return func(d *v1alpha1.Device) bool { return !selector(d) }
}

// byID selects the devices with one of the ids.
func byID(ids ...v1alpha1.DeviceID) Selector {
	return func(d *v1alpha1.Device) bool { return slices.Contains(ids, d.ID) }
}

// ByFamily selects devices of any of the families.
func ByFamily(families ...v1alpha1.DeviceFamily) Selector {
	return func(d *v1alpha1.Device) bool { return slices.Contains(families, d.Family) }
}

// ByVendor selects devices of any of the vendors, in lower case as inventories have them.
func ByVendor(vendors ...string) Selector {
	return func(d *v1alpha1.Device) bool { return slices.Contains(vendors, d.Vendor) }
}

// byBackend selects the devices that any of the detection backends found.
func byBackend(backends ...string) Selector {
	return func(d *v1alpha1.Device) bool { return slices.Contains(backends, d.Backend) }
}

// ByProduct selects by a part of the product's name, or by a glob of all of it (`*H100*`, `Tesla T?`), in any case.
func ByProduct(pattern string) Selector {
	matches := contains(pattern)
	if strings.ContainsAny(pattern, globSigns) {
		matches = equals(pattern)
	}
	return func(d *v1alpha1.Device) bool { return matches(d.Product) }
}

// usable selects devices that new work may be put on; Unhealthy and Unknown ones are not.
func usable(d *v1alpha1.Device) bool { return d.Usable() }

// byHealth selects devices in any of the states.
func byHealth(states ...v1alpha1.HealthState) Selector {
	return func(d *v1alpha1.Device) bool { return slices.Contains(states, d.Health.State) }
}

// available selects the devices of the inventory that are free for new work: usable, not cordoned, and held by no pod.
func available(inventory *v1alpha1.AcceleratorInventory) Selector {
	return All(usable, Not(byID(held(inventory.Spec, &inventory.Status)...)))
}

// held returns the devices that are cordoned or that a pod holds.
func held(spec v1alpha1.AcceleratorInventorySpec, status *v1alpha1.AcceleratorInventoryStatus) []v1alpha1.DeviceID {
	held := slices.Concat(spec.CordonedDevices, status.Withdrawn())
	for _, a := range status.Allocations {
		held = append(held, a.Device)
	}
	return held
}

// globSigns are the characters that make a text a pattern.
const globSigns = "*?"

// equals matches a text in any case, or a glob of it where the pattern has * or ?.
func equals(pattern string) func(string) bool {
	if !strings.ContainsAny(pattern, globSigns) {
		return func(text string) bool { return strings.EqualFold(text, pattern) }
	}
	glob := globReplacer.Replace(strings.ToLower(pattern))
	return func(text string) bool {
		ok, err := path.Match(glob, globSlashes.Replace(strings.ToLower(text)))
		return err == nil && ok
	}
}

// path.Match gives meaning to more characters than * and ?, which stand for themselves here, and does not match a slash.
var (
	globSlashes  = strings.NewReplacer("/", "\x00")
	globReplacer = strings.NewReplacer("/", "\x00", `\`, `\\`, "[", `\[`, "]", `\]`)
)

// contains matches a part of a text in any case.
func contains(part string) func(string) bool {
	part = strings.ToLower(part)
	return func(text string) bool { return strings.Contains(strings.ToLower(text), part) }
}
