package podresources

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// device makes a device of a vendor at a PCI bus.
func device(vendor string, family v1alpha1.DeviceFamily, bus int, change ...func(*v1alpha1.Device)) v1alpha1.Device {
	address := fmt.Sprintf("0000:%02x:00.0", bus)
	d := v1alpha1.Device{
		ID: v1alpha1.DeviceID(vendor + "-" + address), Vendor: vendor, Family: family, PCI: &v1alpha1.PCIDevice{Address: address},
	}
	for _, f := range change {
		f(&d)
	}
	return d
}

func index(i int32) func(*v1alpha1.Device) { return func(d *v1alpha1.Device) { d.Index = &i } }

func uuid(s string) func(*v1alpha1.Device) { return func(d *v1alpha1.Device) { d.UUID = s } }

func paths(p ...string) func(*v1alpha1.Device) {
	return func(d *v1alpha1.Device) { d.Paths = append(d.Paths, p...) }
}

// part makes a device a partition of what it was.
func part(suffix string, number int32) func(*v1alpha1.Device) {
	return func(d *v1alpha1.Device) {
		d.Partition = &v1alpha1.DevicePartition{Kind: "part", Parent: d.ID, Index: number}
		d.ID += v1alpha1.DeviceID("-" + suffix)
	}
}

const (
	gpuUUID = "GPU-6f26dd51-5bdb-a4c3-5f94-29e7478f1c56"
	migUUID = "MIG-c2115c38-7288-56cc-8da9-004ad299b361"
)

// host has a device of every vendor whose names are known. Numbers repeat among vendors, as they do on a mixed host.
var host = []v1alpha1.Device{
	device("nvidia", v1alpha1.FamilyGPU, 0x17, index(0), uuid(gpuUUID), paths("/dev/nvidia0")),
	device("nvidia", v1alpha1.FamilyGPU, 0x18, index(1), uuid(migUUID), paths("/dev/nvidia1"), part("mig7", 7)),
	device("nvidia", v1alpha1.FamilyGPU, 0x18, index(1), paths("/dev/nvidia1"), part("mig8", 8)),
	device("amd", v1alpha1.FamilyGPU, 0x27, index(128), uuid("GPU-2250f807caf2231a"), paths("/dev/kfd", "/dev/dri/renderD128", "/dev/dri/card1")),
	device("amd", v1alpha1.FamilyGPU, 0x28, index(129), paths("/dev/kfd", "/dev/dri/renderD129", "/dev/dri/card2"), part("xcp0", 0)),
	device("amd", v1alpha1.FamilyGPU, 0x28, index(130), paths("/dev/kfd", "/dev/dri/renderD130", "/dev/dri/card3"), part("xcp1", 1)),
	device("intel", v1alpha1.FamilyGPU, 0x37, index(131), paths("/dev/dri/renderD131", "/dev/dri/card4")),
	device("intel", v1alpha1.FamilyASIC, 0x38, index(0), uuid("01P0-HL2080A0-15-TN0000-03-07-00"), paths("/dev/accel/accel0", "/dev/accel/accel_controlD0")),
	device("google", v1alpha1.FamilyTPU, 0x47, index(0), paths("/dev/vfio/0", "/dev/vfio/vfio")),
	device("google", v1alpha1.FamilyTPU, 0x48, index(1), paths("/dev/vfio/1", "/dev/vfio/vfio")),
	device("aws", v1alpha1.FamilyASIC, 0x57, index(5), paths("/dev/neuron5"), part("0", 0)),
	device("aws", v1alpha1.FamilyASIC, 0x57, index(5), paths("/dev/neuron5"), part("1", 1)),
}

func plugin(resource, id string) Name {
	return Name{Server: v1alpha1.ServedByDevicePlugin, Resource: resource, Device: id}
}

func claim(driver, name string) Name {
	return Name{Server: v1alpha1.ServedByDRA, Resource: driver, Pool: "node-1", Device: name}
}

func TestFind(t *testing.T) {
	published := Published{
		claim("gpu.nvidia.com", "gpu-1-mig-1g10gb-19-4"): {UUID: migUUID, PCI: "0000:18:00.0"},
		claim("gpu.nvidia.com", "gpu-1-mig-1g10gb-19-5"): {PCI: "0000:18:00.0"},
		claim("tpu.google.com", "chip-b"):                {Index: "1"},
		claim("gpu.example.com", "a"):                    {PCI: "0000:17:00.0"},
		claim("gpu.amd.com", "gpu-2-129"):                {PCI: "0000:28:00.0"},
		claim("nic.example.com", "eth0"):                 {PCI: "0000:99:00.0"},
	}
	h := NewHardware(host, published)
	tests := []struct {
		about string
		name  Name
		want  []v1alpha1.DeviceID
	}{
		{"our id", plugin("rankwright.dev/nvidia-gpu", "nvidia-0000:17:00.0"), []v1alpha1.DeviceID{"nvidia-0000:17:00.0"}},
		{"our id, a share", plugin("rankwright.dev/nvidia-gpu.shared", "nvidia-0000:17:00.0/3"), []v1alpha1.DeviceID{"nvidia-0000:17:00.0"}},
		{"our id under the vendor's name", plugin("nvidia.com/gpu", "nvidia-0000:17:00.0"), []v1alpha1.DeviceID{"nvidia-0000:17:00.0"}},
		{"our id, of a device that is gone", plugin("rankwright.dev/nvidia-gpu", "nvidia-0000:99:00.0"), []v1alpha1.DeviceID{"nvidia-0000:99:00.0"}},
		{"no id of ours", plugin("rankwright.dev/nvidia-gpu", "0"), nil},
		{"NVIDIA UUID", plugin("nvidia.com/gpu", gpuUUID), []v1alpha1.DeviceID{"nvidia-0000:17:00.0"}},
		{"NVIDIA time slice", plugin("nvidia.com/gpu.shared", gpuUUID+"::11"), []v1alpha1.DeviceID{"nvidia-0000:17:00.0"}},
		{"NVIDIA MIG", plugin("nvidia.com/mig-1g.10gb", migUUID), []v1alpha1.DeviceID{"nvidia-0000:18:00.0-mig7"}},
		{"NVIDIA, another GPU", plugin("nvidia.com/gpu", "GPU-00000000-5bdb-a4c3-5f94-29e7478f1c56"), nil},
		{"HAMi, whose ids mean nothing", plugin("nvidia.com/gpu", gpuUUID+"-3"), nil},
		{"GKE", plugin("nvidia.com/gpu", "nvidia0"), []v1alpha1.DeviceID{"nvidia-0000:17:00.0"}},
		{"GKE share", plugin("nvidia.com/gpu", "nvidia0/vgpu4"), []v1alpha1.DeviceID{"nvidia-0000:17:00.0"}},
		{"GKE MIG", plugin("nvidia.com/gpu", "nvidia1/gi8"), []v1alpha1.DeviceID{"nvidia-0000:18:00.0-mig8"}},
		{"GKE MIG share", plugin("nvidia.com/gpu", "nvidia1/gi8/vgpu0"), []v1alpha1.DeviceID{"nvidia-0000:18:00.0-mig8"}},
		{"AMD", plugin("amd.com/gpu", "0000:27:00.0"), []v1alpha1.DeviceID{"amd-0000:27:00.0"}},
		{"AMD time slice", plugin("amd.com/gpu", "0000:27:00.0-slice-2"), []v1alpha1.DeviceID{"amd-0000:27:00.0"}},
		{"AMD, first partition", plugin("amd.com/cpx_nps4", "0000:28:00.0"), []v1alpha1.DeviceID{"amd-0000:28:00.0-xcp0"}},
		{"AMD, another partition", plugin("amd.com/cpx_nps4", "amdgpu_xcp_1"), nil},
		{"Intel", plugin("gpu.intel.com/i915", "card4-0"), []v1alpha1.DeviceID{"intel-0000:37:00.0"}},
		{"Intel, AMD's card", plugin("gpu.intel.com/i915", "card1-0"), nil},
		{"Gaudi by serial number", plugin("habana.ai/gaudi", "01P0-HL2080A0-15-TN0000-03-07-00"), []v1alpha1.DeviceID{"intel-0000:38:00.0"}},
		{"Gaudi by index", plugin("habana.ai/gaudi", "0"), []v1alpha1.DeviceID{"intel-0000:38:00.0"}},
		{"TPU", plugin("google.com/tpu", "1"), []v1alpha1.DeviceID{"google-0000:48:00.0"}},
		{"Neuron, all cores", plugin("aws.amazon.com/neuron", "5"), []v1alpha1.DeviceID{"aws-0000:57:00.0-0", "aws-0000:57:00.0-1"}},
		{"Neuron core", plugin("aws.amazon.com/neuroncore", "0"), nil},
		{"unknown plugin, UUID", plugin("example.com/gpu", gpuUUID), []v1alpha1.DeviceID{"nvidia-0000:17:00.0"}},
		{"unknown plugin, index", plugin("example.com/gpu", "0"), nil},
		{"node of a driver", plugin("google.com/tpu", "vfio"), nil},
		{"DRA, NVIDIA", claim("gpu.nvidia.com", "gpu-0"), []v1alpha1.DeviceID{"nvidia-0000:17:00.0"}},
		{"DRA, NVIDIA MIG by its slice", claim("gpu.nvidia.com", "gpu-1-mig-1g10gb-19-4"), []v1alpha1.DeviceID{"nvidia-0000:18:00.0-mig7"}},
		{"DRA, NVIDIA MIG by the address of the whole", claim("gpu.nvidia.com", "gpu-1-mig-1g10gb-19-5"), nil},
		{"DRA, AMD", claim("gpu.amd.com", "gpu-1-128"), []v1alpha1.DeviceID{"amd-0000:27:00.0"}},
		{"DRA, AMD partition", claim("gpu.amd.com", "gpu-2-129"), []v1alpha1.DeviceID{"amd-0000:28:00.0-xcp0"}},
		{"DRA, Intel", claim("gpu.intel.com", "0000-37-00-0-0x56c0"), []v1alpha1.DeviceID{"intel-0000:37:00.0"}},
		{"DRA, Gaudi", claim("gaudi.intel.com", "0000-38-00-0-0x1020"), []v1alpha1.DeviceID{"intel-0000:38:00.0"}},
		{"DRA, TPU by its slice", claim("tpu.google.com", "chip-b"), []v1alpha1.DeviceID{"google-0000:48:00.0"}},
		{"DRA, TPU without a slice", claim("tpu.google.com", "1"), nil},
		{"DRA, unknown driver by its slice", claim("gpu.example.com", "a"), []v1alpha1.DeviceID{"nvidia-0000:17:00.0"}},
		{"DRA, no accelerator", claim("nic.example.com", "eth0"), nil},
	}
	for _, tc := range tests {
		t.Run(tc.about, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, h.Find(tc.name)); diff != "" {
				t.Errorf("%+v (-want +got):\n%s", tc.name, diff)
			}
		})
	}
}

// Two devices of one UUID or index, as a driver that has not read them may show, are not told apart by it.
func TestAmbiguousNamesTellNothing(t *testing.T) {
	twins := []v1alpha1.Device{
		device("nvidia", v1alpha1.FamilyGPU, 1, index(0), uuid(gpuUUID), paths("/dev/nvidia0")),
		device("nvidia", v1alpha1.FamilyGPU, 2, index(0), uuid(gpuUUID), paths("/dev/nvidia0")),
	}
	h := NewHardware(twins, nil)
	for _, name := range []Name{plugin("nvidia.com/gpu", gpuUUID), plugin("nvidia.com/gpu", "nvidia0"), claim("gpu.nvidia.com", "gpu-0")} {
		if got := h.Find(name); got != nil {
			t.Errorf("%+v = %v, want none", name, got)
		}
	}
}

// Whatever a server calls its devices, nothing but devices of its vendor are found, and never two physical ones.
func TestFindStaysWithinTheVendor(t *testing.T) {
	byID := map[v1alpha1.DeviceID]*v1alpha1.Device{}
	for i := range host {
		byID[host[i].ID] = &host[i]
	}
	h := NewHardware(host, nil)
	rapid.Check(t, func(t *rapid.T) {
		resource := rapid.SampledFrom([]string{"nvidia.com/gpu", "amd.com/gpu", "gpu.intel.com/xe", "habana.ai/gaudi", "google.com/tpu", "aws.amazon.com/neuron"}).Draw(t, "resource")
		id := rapid.OneOf(
			rapid.StringMatching(`(card|nvidia|accel|renderD|neuron)?[0-9]{1,3}(-[0-9]|::[0-9]|/gi[0-9])?`),
			rapid.StringMatching(`0000:[1-5][78]:00\.0(-slice-[0-9])?`),
			rapid.SampledFrom([]string{gpuUUID, migUUID, "GPU-2250f807caf2231a", "01P0-HL2080A0-15-TN0000-03-07-00"}),
		).Draw(t, "id")
		n := namingOf(v1alpha1.ServedByDevicePlugin, resource)
		whole := map[v1alpha1.DeviceID]bool{}
		for _, found := range h.Find(plugin(resource, id)) {
			if !n.serves(byID[found]) {
				t.Fatalf("%s of %s is %s", id, resource, found)
			}
			whole[byID[found].Whole()] = true
		}
		if len(whole) > 1 {
			t.Fatalf("%s of %s is several devices: %v", id, resource, whole)
		}
	})
}
