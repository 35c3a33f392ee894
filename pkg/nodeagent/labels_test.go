package nodeagent

import (
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestLabels(t *testing.T) {
	sick := h100(1)
	sick.Health.State = v1alpha1.Unhealthy
	l40s := h100(2)
	l40s.Product, l40s.Architecture, l40s.ComputeCapability = "NVIDIA L40S", "Ada", "8.9"
	l40s.Memory = &v1alpha1.DeviceMemory{TotalMiB: 46068}
	nameless := h100(3)
	nameless.Product, nameless.Memory = "", nil
	cpu := v1alpha1.Device{ID: "cpu-0", Vendor: "intel", Family: v1alpha1.FamilyCPU, Product: "Xeon"}
	cpuWithMemory := cpu
	cpuWithMemory.Memory = &v1alpha1.DeviceMemory{TotalMiB: 65536}
	tpu := v1alpha1.Device{
		ID: "google-accel0", Vendor: "google", Family: v1alpha1.FamilyTPU, Product: "TPU v5p", Architecture: "v5p",
		Health: v1alpha1.DeviceHealth{State: v1alpha1.Unknown},
	}
	withLinks := func(links v1alpha1.Links, devices ...v1alpha1.Device) v1alpha1.AcceleratorInventoryStatus {
		s := status(nil, devices...)
		s.Links = links
		return s
	}
	tests := []struct {
		name   string
		status v1alpha1.AcceleratorInventoryStatus
		want   string
	}{
		{"no devices", status(nil), ""},
		{"a processor is no accelerator", status(nil, cpu), ""},
		{"one device has no link", status(nil, h100(0)), `
			accelerator=true vendors=nvidia
			nvidia.present=true nvidia.count=1 nvidia.healthy=1 nvidia.product=NVIDIA-H100-80GB-HBM3 nvidia.memory-mib=81559
			nvidia.driver=570.86.15 nvidia.architecture=Hopper nvidia.compute-capability=9.0`},
		{"a switch, one device sick", withLinks(v1alpha1.Links{Domains: []v1alpha1.LinkDomain{nvSwitch(h100(0), sick)}}, h100(0), sick), `
			accelerator=true vendors=nvidia
			nvidia.present=true nvidia.count=2 nvidia.healthy=1 nvidia.product=NVIDIA-H100-80GB-HBM3 nvidia.memory-mib=81559
			nvidia.driver=570.86.15 nvidia.architecture=Hopper nvidia.compute-capability=9.0
			nvidia.link=NVLink nvidia.link-topology=Switch`},
		{"devices that differ", status(nil, h100(0), h100(1), l40s), `
			accelerator=true vendors=nvidia
			nvidia.present=true nvidia.count=3 nvidia.healthy=3 nvidia.driver=570.86.15 nvidia.link=PCIe
			nvidia.product.NVIDIA-H100-80GB-HBM3=2 nvidia.product.NVIDIA-L40S=1`},
		{"links that nothing has told of", withLinks(v1alpha1.Links{Unread: []v1alpha1.DeviceID{h100(0).ID}}, h100(0), h100(1)), `
			accelerator=true vendors=nvidia
			nvidia.present=true nvidia.count=2 nvidia.healthy=2 nvidia.product=NVIDIA-H100-80GB-HBM3 nvidia.memory-mib=81559
			nvidia.driver=570.86.15 nvidia.architecture=Hopper nvidia.compute-capability=9.0`},
		{"a product that nobody knows", status(nil, h100(0), nameless), `
			accelerator=true vendors=nvidia
			nvidia.present=true nvidia.count=2 nvidia.healthy=2 nvidia.driver=570.86.15 nvidia.link=PCIe
			nvidia.architecture=Hopper nvidia.compute-capability=9.0 nvidia.product.NVIDIA-H100-80GB-HBM3=1`},
		{"pairs on PCIe with one left over", withLinks(v1alpha1.Links{
			Pairs: []v1alpha1.LinkPair{{A: h100(0).ID, B: h100(1).ID, Kind: "NVLink", Count: 4}},
		}, h100(0), h100(1), l40s), `
			accelerator=true vendors=nvidia
			nvidia.present=true nvidia.count=3 nvidia.healthy=3 nvidia.driver=570.86.15
			nvidia.product.NVIDIA-H100-80GB-HBM3=2 nvidia.product.NVIDIA-L40S=1`},
		{"pairs", withLinks(v1alpha1.Links{
			Pairs: []v1alpha1.LinkPair{{A: mi300x(0).ID, B: mi300x(1).ID, Kind: "XGMI", Count: 1}},
		}, mi300x(0), mi300x(1)), `
			accelerator=true vendors=amd
			amd.present=true amd.count=2 amd.healthy=2 amd.product=AMD-Instinct-MI300X amd.memory-mib=196592
			amd.driver=6.10.5 amd.architecture=gfx942 amd.link=XGMI`},
		{"a device without memory that work can use", status(nil, tpu, cpuWithMemory), `
			vendors=google
			google.present=true google.count=1 google.healthy=0 google.product=TPU-v5p google.architecture=v5p`},
		{"two vendors", status(nil, mi300x(0), tpu), `
			accelerator=true vendors=amd.google
			amd.present=true amd.count=1 amd.healthy=1 amd.product=AMD-Instinct-MI300X amd.memory-mib=196592
			amd.driver=6.10.5 amd.architecture=gfx942
			google.present=true google.count=1 google.healthy=0 google.product=TPU-v5p google.architecture=v5p`},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if diff := cmp.Diff(parseLabels(tc.want), Labels(&tc.status)); diff != "" {
				t.Errorf("labels differ (-want +got):\n%s", diff)
			}
		})
	}
}

// parseLabels reads labels written as `key=value`, without the prefix.
func parseLabels(text string) map[string]string {
	labels := map[string]string{}
	for _, field := range strings.Fields(text) {
		key, value, _ := strings.Cut(field, "=")
		labels[v1alpha1.Prefix+key] = value
	}
	return labels
}

func TestLabelsAreValidForAnyDevices(t *testing.T) {
	text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[A-Za-z0-9 ._/()-]{0,100}`))
	device := rapid.Custom(func(t *rapid.T) v1alpha1.Device {
		return v1alpha1.Device{
			ID:     v1alpha1.DeviceID(rapid.StringMatching(`[a-z]-[0-9]`).Draw(t, "id")),
			Vendor: rapid.StringMatching(`[a-z0-9][a-z0-9-]{0,31}`).Draw(t, "vendor"), Family: v1alpha1.FamilyGPU,
			Product: text.Draw(t, "product"), Architecture: text.Draw(t, "architecture"),
			ComputeCapability: text.Draw(t, "capability"), DriverVersion: text.Draw(t, "driver"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		s := status(nil, rapid.SliceOf(device).Draw(t, "devices")...)
		for key, value := range Labels(&s) {
			if problems := validation.IsQualifiedName(key); len(problems) > 0 {
				t.Fatalf("key %q: %v", key, problems)
			}
			if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
				t.Fatalf("value %q of %s: %v", value, key, problems)
			}
		}
	})
}

func TestLabelsOfOneVendorIgnoreTheOthers(t *testing.T) {
	both, alone := status(nil, h100(0), h100(1), mi300x(0)), status(nil, h100(0), h100(1))
	ofNVIDIA := func(labels map[string]string) map[string]string {
		maps.DeleteFunc(labels, func(key, _ string) bool { return !strings.HasPrefix(key, v1alpha1.Prefix+"nvidia.") })
		return labels
	}
	if diff := cmp.Diff(ofNVIDIA(Labels(&alone)), ofNVIDIA(Labels(&both))); diff != "" {
		t.Errorf("an AMD device changes NVIDIA's labels (-without +with):\n%s", diff)
	}
}
