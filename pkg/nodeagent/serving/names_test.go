package serving

import (
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func TestResource(t *testing.T) {
	renamed := VendorConfig{Resources: map[string]string{
		"gpu": "nvidia.com/gpu", "neuron": "aws.amazon.com/neuron", "gaudi": "habana.ai/gaudi", "mig-7g.80gb": "example.com/whole",
	}}
	amd := VendorConfig{Resources: map[string]string{"gpu": "amd.com/gpu"}}
	tests := []struct {
		vendor, backend string
		family          v1alpha1.DeviceFamily
		kind, profile   string
		config          VendorConfig
		want            string
	}{
		{"nvidia", "nvidia", v1alpha1.FamilyGPU, "", "", VendorConfig{}, "rankwright.dev/nvidia-gpu"},
		{"amd", "amd", v1alpha1.FamilyGPU, "", "", VendorConfig{}, "rankwright.dev/amd-gpu"},
		{"amd", "xdna", v1alpha1.FamilyNPU, "", "", VendorConfig{}, "rankwright.dev/amd-npu"},
		{"intel", "gaudi", v1alpha1.FamilyASIC, "", "", VendorConfig{}, "rankwright.dev/intel-gaudi"},
		{"intel", "intel-gpu", v1alpha1.FamilyGPU, "", "", VendorConfig{}, "rankwright.dev/intel-gpu"},
		{"intel", "intel-npu", v1alpha1.FamilyNPU, "", "", VendorConfig{}, "rankwright.dev/intel-npu"},
		{"google", "tpu", v1alpha1.FamilyTPU, "", "", VendorConfig{}, "rankwright.dev/google-tpu"},
		{"aws", "neuron", v1alpha1.FamilyASIC, "", "", VendorConfig{}, "rankwright.dev/aws-neuron"},
		{"nvidia", "nvidia", v1alpha1.FamilyGPU, "", "", renamed, "nvidia.com/gpu"},
		{"intel", "gaudi", v1alpha1.FamilyASIC, "", "", renamed, "habana.ai/gaudi"},
		{"nvidia", "nvidia", v1alpha1.FamilyGPU, "MIG", "1g.10gb", VendorConfig{}, "rankwright.dev/nvidia-mig-1g.10gb"},
		{"nvidia", "nvidia", v1alpha1.FamilyGPU, "MIG", "1g.10gb", renamed, "nvidia.com/mig-1g.10gb"},
		{"nvidia", "nvidia", v1alpha1.FamilyGPU, "MIG", "1g.10gb+me", renamed, "nvidia.com/mig-1g.10gb.me"},
		{"nvidia", "nvidia", v1alpha1.FamilyGPU, "MIG", "7g.80gb", renamed, "example.com/whole"},
		{"amd", "amd", v1alpha1.FamilyGPU, "CPX", "CPX/NPS4", VendorConfig{}, "rankwright.dev/amd-cpx_nps4"},
		{"amd", "amd", v1alpha1.FamilyGPU, "CPX", "CPX/NPS4", amd, "amd.com/cpx_nps4"},
		{"aws", "neuron", v1alpha1.FamilyASIC, "core", "LNC=2", VendorConfig{}, "rankwright.dev/aws-neuroncore"},
		{"aws", "neuron", v1alpha1.FamilyASIC, "core", "", renamed, "aws.amazon.com/neuroncore"},
		{"x", "new", v1alpha1.FamilyGPU, "Part", "Half of it!", VendorConfig{}, "rankwright.dev/x-half-of-it"},
	}
	for _, tc := range tests {
		t.Run(tc.want, func(t *testing.T) {
			d := v1alpha1.Device{ID: "d", Vendor: tc.vendor, Backend: tc.backend, Family: tc.family}
			if tc.kind != "" {
				d.Partition = &v1alpha1.DevicePartition{Kind: tc.kind, Profile: tc.profile}
			}
			if got, err := resourceOf(&d, tc.config); err != nil || got != tc.want {
				t.Errorf("%q, %v, want %q", got, err, tc.want)
			}
		})
	}
}

func TestResourceWithoutName(t *testing.T) {
	tests := []struct {
		name   string
		device v1alpha1.Device
		want   string
	}{
		{"no family", v1alpha1.Device{ID: "x-1", Vendor: "x"}, "device x-1 has no family"},
		{"no profile", partition("MIG", ""), "the profile of partition nvidia-0 is not known yet"},
		{"no letter", partition("MPP", "!!"), `profile "!!" of partition nvidia-0 has no letter`},
		{"too long", partition("MPP", strings.Repeat("x", 64)), "cannot be an extended resource"},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			if _, err := resourceOf(&tc.device, VendorConfig{}); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%v, want %q in it", err, tc.want)
			}
		})
	}
}

func partition(kind, profile string) v1alpha1.Device {
	return v1alpha1.Device{
		ID: "nvidia-0", Vendor: "nvidia", Family: v1alpha1.FamilyGPU, Partition: &v1alpha1.DevicePartition{Kind: kind, Profile: profile},
	}
}

func TestOfferIDsLeadBackToTheDevice(t *testing.T) {
	const device = v1alpha1.DeviceID("nvidia-0000:17:00.0-mig7")
	for _, shares := range []int{0, 1, 3} {
		ids := offerIDs(device, shares)
		if len(ids) != max(shares, 1) {
			t.Errorf("%d ids for %d shares", len(ids), shares)
		}
		for _, id := range ids {
			if deviceOf(id) != device {
				t.Errorf("%q leads to %q", id, deviceOf(id))
			}
		}
	}
	if id := offerIDs(device, 1)[0]; id != string(device) {
		t.Errorf("a device that is not shared is %q to the kubelet, want its id", id)
	}
}

func TestSocketNames(t *testing.T) {
	long := "rankwright.dev/slot-" + strings.Repeat("a", 43)
	names := map[string]string{}
	for _, resource := range []string{"nvidia.com/gpu", long, long[:len(long)-1] + "b", "nvidia.com/mig-1g.10gb"} {
		name := socketName(resource)
		if len(name) > maxSocketName || strings.Contains(name, "/") {
			t.Errorf("%q: cannot be a socket of the folder", name)
		}
		if other := names[name]; other != "" {
			t.Errorf("%s and %s have one socket", resource, other)
		}
		names[name] = resource
	}
	if got := socketName("nvidia.com/gpu"); got != "rankwright-nvidia.com_gpu.sock" {
		t.Errorf("%q: other agents and people look for rankwright-nvidia.com_gpu.sock", got)
	}
}
