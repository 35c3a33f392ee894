package podresources

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/ptr"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// slicePublished is what a driver says of devices, each a JSON object of attributes.
func slicePublished(t *testing.T, driver string, devices ...string) Published {
	t.Helper()
	var all []string
	for i, attributes := range devices {
		all = append(all, fmt.Sprintf(`{"name":"d%d","attributes":%s}`, i, attributes))
	}
	return publishedOf(t, fmt.Sprintf(`{"spec":{"driver":%q,"pool":{"name":"node-1"},"devices":[%s]}}`, driver, strings.Join(all, ",")))
}

func TestSelectors(t *testing.T) {
	text := func(name, value string) v1alpha1.ClaimAttribute {
		return v1alpha1.ClaimAttribute{Name: name, String: &value}
	}
	const (
		uuidA = `"uuid":{"string":"GPU-a"}`
		uuidB = `"uuid":{"string":"GPU-b"}`
		pciA  = `"resource.kubernetes.io/pciBusID":{"string":"0000:01:00.0"}`
		pciB  = `"resource.kubernetes.io/pciBusID":{"string":"0000:02:00.0"}`
	)
	partitions := []v1alpha1.Device{
		device("nvidia", v1alpha1.FamilyGPU, 1, uuid("GPU-a"), func(d *v1alpha1.Device) {
			d.ID, d.Partition = first+"-mig0", &v1alpha1.DevicePartition{Kind: "MIG", Parent: first}
		}),
		device("nvidia", v1alpha1.FamilyGPU, 1, uuid("GPU-b"), func(d *v1alpha1.Device) {
			d.ID, d.Partition = first+"-mig1", &v1alpha1.DevicePartition{Kind: "MIG", Parent: first, Index: 1}
		}),
	}
	tpu := device("google", v1alpha1.FamilyTPU, 4, func(d *v1alpha1.Device) { d.ID, d.PCI, d.Index = "google-accel3", nil, ptr.To[int32](3) })
	tests := []struct {
		name    string
		devices []v1alpha1.Device
		driver  string
		says    []string
		want    map[v1alpha1.DeviceID]v1alpha1.ClaimAttribute
	}{
		{"a UUID before an address", three, "gpu.nvidia.com", []string{`{` + pciA + `,` + uuidA + `}`}, map[v1alpha1.DeviceID]v1alpha1.ClaimAttribute{
			first: text("gpu.nvidia.com/uuid", "GPU-a"),
		}},
		{"an address, where there is no UUID", three, "gpu.nvidia.com", []string{`{` + pciA + `}`, `{` + uuidB + `}`}, map[v1alpha1.DeviceID]v1alpha1.ClaimAttribute{
			first: text("resource.kubernetes.io/pciBusID", "0000:01:00.0"), second: text("gpu.nvidia.com/uuid", "GPU-b"),
		}},
		{"an index, where there is nothing else", []v1alpha1.Device{tpu}, "tpu.google.com", []string{`{"index":{"int":3}}`}, map[v1alpha1.DeviceID]v1alpha1.ClaimAttribute{
			"google-accel3": {Name: "tpu.google.com/index", Int: ptr.To[int64](3)},
		}},
		{"parts share an address, and have UUIDs", partitions, "gpu.nvidia.com", []string{`{` + pciA + `,` + uuidA + `}`, `{` + pciA + `,` + uuidB + `}`}, map[v1alpha1.DeviceID]v1alpha1.ClaimAttribute{
			first + "-mig0": text("gpu.nvidia.com/uuid", "GPU-a"), first + "-mig1": text("gpu.nvidia.com/uuid", "GPU-b"),
		}},
		{"a UUID that two have: the address", three, "gpu.nvidia.com", []string{`{` + uuidA + `,` + pciA + `}`, `{"uuid":{"string":"GPU-a"},` + pciB + `}`}, map[v1alpha1.DeviceID]v1alpha1.ClaimAttribute{}},
		{"a UUID that is too long for the inventory", three, "gpu.nvidia.com", []string{`{"uuid":{"string":"` + strings.Repeat("x", 65) + `"},` + pciA + `}`}, map[v1alpha1.DeviceID]v1alpha1.ClaimAttribute{
			first: text("resource.kubernetes.io/pciBusID", "0000:01:00.0"),
		}},
		{"a whole device that the inventory has in parts", partitions, "gpu.nvidia.com", []string{`{` + pciA + `}`}, map[v1alpha1.DeviceID]v1alpha1.ClaimAttribute{}},
		{"our own driver", three, v1alpha1.DRADriver, []string{`{` + uuidA + `}`}, map[v1alpha1.DeviceID]v1alpha1.ClaimAttribute{}},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			published := slicePublished(t, tc.driver, tc.says...)
			h := NewHardware(tc.devices, published)
			if diff := cmp.Diff(tc.want, h.Selectors(h.Owners(Evidence{Offered: []Name{}, Published: published}))); diff != "" {
				t.Errorf("selectors (-want +got):\n%s", diff)
			}
		})
	}
}

// A device that a plugin serves as well is not for claims.
func TestPluginsDevicesAreNotSelected(t *testing.T) {
	published := slicePublished(t, "gpu.nvidia.com", `{"uuid":{"string":"GPU-a"}}`)
	h := NewHardware(three, published)
	owners := h.Owners(Evidence{Offered: []Name{plugin("nvidia.com/gpu", "GPU-a")}, Published: published})
	if got := h.Selectors(owners); len(got) > 0 {
		t.Errorf("selectors %v", got)
	}
}
