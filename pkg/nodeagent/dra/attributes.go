package dra

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/devicename"
	"github.com/rankwright/rankwright/pkg/nodeagent/injection"
	"github.com/rankwright/rankwright/pkg/nodeagent/resourceapi"
)

// Attributes of a device that are in the driver's own domain: `device.attributes["rankwright.dev"].id` in a selector. The names of
// the others are in the table of attributesOf.
const (
	attributeID         = "id"
	attributeLinkDomain = "linkDomain"
	capacityMemory      = "memory"
)

// Selector returns the attribute by which a claim selects exactly this device; nil where the id is longer than an attribute can be.
func Selector(id v1alpha1.DeviceID) *v1alpha1.ClaimAttribute {
	text := string(id)
	if len(text) > resourceapi.MaxText {
		return nil
	}
	return &v1alpha1.ClaimAttribute{Name: v1alpha1.DRADriver + "/" + attributeID, String: &text}
}

// sliced is a device as a ResourceSlice has it; island names its link domain, empty where it has none.
func sliced(d *v1alpha1.Device, island string) resourceapi.Device {
	return resourceapi.Device{Name: devicename.Of(d.ID), Attributes: attributesOf(d, island), Capacity: capacityOf(d)}
}

// pciBusID and pcieRoot are the forms of the standard attributes (deviceattribute/pci_linux.go of
// k8s.io/dynamic-resource-allocation, which reads the same links in /sys as the inventory does).
var (
	pciBusID = regexp.MustCompile(`^[0-9a-f]{4}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-9a-f]$`)
	pcieRoot = regexp.MustCompile(`^pci[0-9a-f]{4,8}:[0-9a-f]{2}$`)
)

// attributesOf returns the known attributes of a device. A text longer than the API takes (64 bytes) is left out: cut short,
// it would select devices that it does not mean. The domain resource.kubernetes.io has the attributes that every driver names
// alike (deviceattribute/attribute.go of k8s.io/dynamic-resource-allocation).
func attributesOf(d *v1alpha1.Device, island string) map[string]resourceapi.Attribute {
	texts := map[string]string{
		attributeID: string(d.ID), "vendor": d.Vendor, "kind": injection.Noun(d), "family": string(d.Family), "type": injection.Noun(d),
		"product": d.Product, "architecture": d.Architecture, "uuid": d.UUID, attributeLinkDomain: island,
	}
	if p := d.Partition; p != nil {
		texts["type"], texts["profile"], texts["parent"] = strings.ToLower(p.Kind), p.Profile, string(p.Parent)
	}
	if d.PCI != nil && pciBusID.MatchString(d.PCI.Address) {
		texts["resource.kubernetes.io/pciBusID"] = d.PCI.Address
	}
	if d.PCI != nil && pcieRoot.MatchString(d.PCI.Root) {
		texts["resource.kubernetes.io/pcieRoot"] = d.PCI.Root
	}
	attributes := map[string]resourceapi.Attribute{}
	for name, text := range texts {
		if text != "" && len(text) <= resourceapi.MaxText {
			attributes[name] = resourceapi.Attribute{String: &text}
		}
	}
	// Versions are for isGreaterThan(semver("570.0.0")) and the like.
	for name, text := range map[string]string{"driverVersion": d.DriverVersion, "computeCapability": d.ComputeCapability} {
		if version := semantic(text); version != "" && len(version) <= resourceapi.MaxText {
			attributes[name] = resourceapi.Attribute{Version: &version}
		}
	}
	if d.NUMANode != nil && *d.NUMANode >= 0 {
		attributes["resource.kubernetes.io/numaNode"] = resourceapi.Attribute{Int: ptr.To(int64(*d.NUMANode))}
	}
	return attributes
}

func capacityOf(d *v1alpha1.Device) map[string]resourceapi.Capacity {
	if d.Memory == nil || d.Memory.TotalMiB <= 0 {
		return nil
	}
	return map[string]resourceapi.Capacity{
		capacityMemory: {Value: *resource.NewQuantity(d.Memory.TotalMiB<<20, resource.BinarySI)},
	}
}
