package dra

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/nodeagent/devicename"
	"github.com/rankwright/rankwright/pkg/nodeagent/resourceapi"
)

func TestDeviceAsASliceHasIt(t *testing.T) {
	text := func(s string) resourceapi.Attribute { return resourceapi.Attribute{String: &s} }
	number := func(n int64) resourceapi.Attribute { return resourceapi.Attribute{Int: &n} }
	version := func(s string) resourceapi.Attribute { return resourceapi.Attribute{Version: &s} }
	node := int32(1)
	tests := []struct {
		name       string
		device     v1alpha1.Device
		attributes map[string]resourceapi.Attribute
		memory     string
	}{
		{"all that is known", v1alpha1.Device{
			ID: "amd-0000:0f:00.0", Vendor: "amd", Family: v1alpha1.FamilyGPU, Product: "AMD Instinct MI300X", Architecture: "gfx942", UUID: "GPU-0011223344556677",
			DriverVersion: "6.14.05", ComputeCapability: "9.4", PCI: &v1alpha1.PCIDevice{Address: "0000:0f:00.0", Root: "pci0000:0c"}, NUMANode: &node,
			Memory: &v1alpha1.DeviceMemory{TotalMiB: 196592},
		}, map[string]resourceapi.Attribute{
			"id": text("amd-0000:0f:00.0"), "vendor": text("amd"), "kind": text("gpu"), "type": text("gpu"), "linkDomain": text("XGMI/node-1/xgmi-1"),
			"driverVersion": version("6.14.5"), "computeCapability": version("9.4.0"),
			"family":  text("GPU"),
			"product": text("AMD Instinct MI300X"), "architecture": text("gfx942"), "uuid": text("GPU-0011223344556677"),
			"resource.kubernetes.io/pciBusID": text("0000:0f:00.0"), "resource.kubernetes.io/pcieRoot": text("pci0000:0c"),
			"resource.kubernetes.io/numaNode": number(1),
		}, "196592Mi"},
		{
			"nothing but the name",
			v1alpha1.Device{ID: "google-accel0", Vendor: "google", Family: v1alpha1.FamilyTPU},
			map[string]resourceapi.Attribute{"id": text("google-accel0"), "vendor": text("google"), "kind": text("tpu"), "type": text("tpu"), "family": text("TPU")},
			"",
		},
		{"texts that are too long, an address that is not the standard's, a root that is none", v1alpha1.Device{
			ID: v1alpha1.DeviceID("x-" + strings.Repeat("y", 63)), Vendor: "x", Family: v1alpha1.FamilyNPU, Product: strings.Repeat("é", 33), UUID: strings.Repeat("u", 65),
			PCI: &v1alpha1.PCIDevice{Address: "10000:0f:00.0", Root: "LNXSYSTM:00"}, Memory: &v1alpha1.DeviceMemory{},
		}, map[string]resourceapi.Attribute{"vendor": text("x"), "kind": text("npu"), "type": text("npu"), "family": text("NPU")}, ""},
		{"a partition", v1alpha1.Device{
			ID: "nvidia-gpu0-mig7", Vendor: "nvidia", Family: v1alpha1.FamilyGPU, Partition: &v1alpha1.DevicePartition{Kind: "MIG", Parent: "nvidia-gpu0", Profile: "1g.10gb"},
		}, map[string]resourceapi.Attribute{
			"id": text("nvidia-gpu0-mig7"), "vendor": text("nvidia"), "kind": text("gpu"), "family": text("GPU"), "profile": text("1g.10gb"),
			"type": text("mig"), "parent": text("nvidia-gpu0"),
		}, ""},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			island := ""
			if _, has := tc.attributes[attributeLinkDomain]; has {
				island = "XGMI/node-1/xgmi-1"
			}
			got := sliced(&tc.device, island)
			if diff := cmp.Diff(tc.attributes, got.Attributes); diff != "" {
				t.Errorf("attributes (-want +got):\n%s", diff)
			}
			memory, has := got.Capacity[capacityMemory]
			if has != (tc.memory != "") || has && memory.Value.String() != tc.memory {
				t.Errorf("memory %s, want %s", memory.Value.String(), tc.memory)
			}
			if got.Name != devicename.Of(tc.device.ID) {
				t.Errorf("name %s", got.Name)
			}
		})
	}
}

// What the inventory says selects a device is what its ResourceSlice says of it.
func TestSelectorIsAnAttribute(t *testing.T) {
	for _, id := range []v1alpha1.DeviceID{"amd-0000:0f:00.0", v1alpha1.DeviceID(strings.Repeat("x", 64)), v1alpha1.DeviceID(strings.Repeat("x", 65))} {
		device := sliced(&v1alpha1.Device{ID: id}, "")
		attribute, published := device.Attributes[attributeID]
		selector := Selector(id)
		if published != (selector != nil) || published && (*selector.String != *attribute.String || selector.Name != "rankwright.dev/id") {
			t.Errorf("%s: selector %+v, attribute %+v", id, selector, attribute)
		}
	}
}
