package dra

import (
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/devicename"
	"github.com/rankwright/rankwright/pkg/nodeagent/injection"
	"github.com/rankwright/rankwright/pkg/nodeagent/resourceapi"
)

// Attributes of a device that are in the driver's own domain: `device.attributes["rankwright.dev"].id` in a selector.
const (
	attributeID           = "id"
	attributeVendor       = "vendor"
	attributeKind         = "kind"
	attributeFamily       = "family"
	attributeProduct      = "product"
	attributeArchitecture = "architecture"
	attributeUUID         = "uuid"
	attributeProfile      = "profile"
	attributeType         = "type"
	attributeParent       = "parent"
	attributeLinkDomain   = "linkDomain"
	// attributeDriverVersion and attributeComputeCapability are versions, for isGreaterThan(semver("570.0.0")) and the like.
	attributeDriverVersion     = "driverVersion"
	attributeComputeCapability = "computeCapability"
	capacityMemory             = "memory"
)

// Attributes that every driver names alike (deviceattribute/attribute.go of k8s.io/dynamic-resource-allocation).
const (
	attributePCIBusID = "resource.kubernetes.io/pciBusID"
	attributePCIeRoot = "resource.kubernetes.io/pcieRoot"
	attributeNUMANode = "resource.kubernetes.io/numaNode"
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
// it would select devices that it does not mean.
func attributesOf(d *v1alpha1.Device, island string) map[string]resourceapi.Attribute {
	texts := map[string]string{
		attributeID: string(d.ID), attributeVendor: d.Vendor, attributeKind: injection.Noun(d), attributeFamily: string(d.Family),
		attributeProduct: d.Product, attributeArchitecture: d.Architecture, attributeUUID: d.UUID,
		attributeType: injection.Noun(d), attributeLinkDomain: island,
	}
	if d.Partition != nil {
		texts[attributeType] = strings.ToLower(d.Partition.Kind)
		texts[attributeProfile], texts[attributeParent] = d.Partition.Profile, string(d.Partition.Parent)
	}
	if d.PCI != nil && pciBusID.MatchString(d.PCI.Address) {
		texts[attributePCIBusID] = d.PCI.Address
	}
	if d.PCI != nil && pcieRoot.MatchString(d.PCI.Root) {
		texts[attributePCIeRoot] = d.PCI.Root
	}
	attributes := map[string]resourceapi.Attribute{}
	for name, text := range texts {
		if text != "" && len(text) <= resourceapi.MaxText {
			attributes[name] = resourceapi.Attribute{String: &text}
		}
	}
	for name, text := range map[string]string{attributeDriverVersion: d.DriverVersion, attributeComputeCapability: d.ComputeCapability} {
		if version := semantic(text); version != "" && len(version) <= resourceapi.MaxText {
			attributes[name] = resourceapi.Attribute{Version: &version}
		}
	}
	if d.NUMANode != nil && *d.NUMANode >= 0 {
		node := int64(*d.NUMANode)
		attributes[attributeNUMANode] = resourceapi.Attribute{Int: &node}
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
