package generic

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
)

// heapOf is a heap as vulkaninfo lists it in full.
func heapOf(number int, size, budget int64, flag string) string {
	text := fmt.Sprintf("\tmemoryHeaps[%d]:\n\t\tsize   = %d (0x0) (1.00 GiB)\n", number, size)
	if budget > 0 {
		text += fmt.Sprintf("\t\tbudget = %d (0x0) (1.00 GiB)\n\t\tusage  = 0 (0x00000000) (0.00 B)\n", budget)
	}
	return text + "\t\tflags: count = 1\n\t\t\t" + flag + "\n"
}

// vulkanListing is a device in the full listing.
func vulkanListing(number int, vendor, device, kind, name string, heaps ...string) string {
	return vulkanEntry(number, vendor, device, kind, name) +
		fmt.Sprintf("VkPhysicalDeviceMemoryProperties:\n=====\nmemoryHeaps: count = %d\n", len(heaps)) + strings.Join(heaps, "") +
		"memoryTypes: count = 1\n\tmemoryTypes[0]:\n\t\theapIndex     = 0\n\t\tpropertyFlags = 0x0001: count = 1\n\t\t\tMEMORY_PROPERTY_DEVICE_LOCAL_BIT\n"
}

func TestVulkanMemory(t *testing.T) {
	const local, gib = "MEMORY_HEAP_DEVICE_LOCAL_BIT", int64(1) << 30
	heaps := []string{heapOf(0, 48*gib, 0, "None"), heapOf(1, 16*gib, 13*gib, local), heapOf(2, gib/4, gib/4, local)}
	summary := vulkanEntry(0, "0x1ed5", "0x0222", "DISCRETE_GPU", "MTT S80")
	for name, test := range map[string]struct {
		listing string
		want    *v1alpha1.DeviceMemory
	}{
		"the largest heap that is local": {
			vulkanListing(0, "0x1ed5", "0x0222", "DISCRETE_GPU", "MTT S80", heaps...),
			&v1alpha1.DeviceMemory{TotalMiB: 16384, UsedByOthersMiB: backend.UsedInSteps(3072, 16384), Source: v1alpha1.SourceDriver},
		},
		"the least of several that are the same": {
			vulkanListing(0, "0x1ed5", "0x0222", "DISCRETE_GPU", "MTT S80", heaps...) +
				vulkanListing(1, "0x1ed5", "0x0222", "DISCRETE_GPU", "MTT S80", heapOf(0, 8*gib, 0, local)),
			&v1alpha1.DeviceMemory{TotalMiB: 8192, Source: v1alpha1.SourceDriver},
		},
		"another device's":       {vulkanListing(0, "0x10de", "0x2684", "DISCRETE_GPU", "NVIDIA GeForce RTX 4090", heaps...), nil},
		"no heap is local":       {vulkanListing(0, "0x1ed5", "0x0222", "DISCRETE_GPU", "MTT S80", heaps[0]), nil},
		"cut off before a flag":  {vulkanEntry(0, "0x1ed5", "0x0222", "DISCRETE_GPU", "MTT S80") + "memoryHeaps[0]:\n\tsize = 17179869184 (", nil},
		"a size that nobody has": {vulkanListing(0, "0x1ed5", "0x0222", "DISCRETE_GPU", "MTT S80", heapOf(0, 1<<62, 0, local)), nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			place, files := moore("0000:03:00.0")
			s.DRM(s.Function(place, "mtgpu", files), "card0", "renderD128")
			s.vulkaninfo(summary)
			s.Must(s.AddCommand(host.CommandResult{Stdout: []byte(test.listing)}, "vulkaninfo"))
			found := s.Detect(Vulkan())
			if diff := cmp.Diff(test.want, found.Devices[0].Memory); diff != "" || found.Degraded != "" {
				t.Errorf("degraded %q\n%s", found.Degraded, diff)
			}
		})
	}
}

// The memory of an integrated GPU is the host's, and a listing that fails hides nothing.
func TestVulkanMemoryOfIntegrated(t *testing.T) {
	summary := vulkanEntry(0, "0x13b5", "0xa8670000", "INTEGRATED_GPU", "Mali-G610")
	for name, test := range map[string]struct {
		result host.CommandResult
		want   *v1alpha1.DeviceMemory
	}{
		"shared": {
			host.CommandResult{Stdout: []byte(vulkanListing(0, "0x13b5", "0xa8670000", "INTEGRATED_GPU", "Mali-G610", heapOf(0, 8<<30, 0, "MEMORY_HEAP_DEVICE_LOCAL_BIT")))},
			&v1alpha1.DeviceMemory{TotalMiB: 8192, Source: v1alpha1.SourceDriver, Shared: &v1alpha1.SharedMemory{HostMiB: 8192}},
		},
		"crashes": {host.CommandResult{ExitCode: 139}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTree(t)
			s.DRM(s.platform("fb000000.gpu", "panthor"), "card1", "renderD128")
			s.vulkaninfo(summary)
			s.Must(s.AddCommand(test.result, "vulkaninfo"))
			found := s.Detect(Vulkan())
			if diff := cmp.Diff(test.want, found.Devices[0].Memory); diff != "" || found.Degraded != "" || found.Devices[0].Product != "Mali-G610" {
				t.Errorf("got %+v, degraded %q\n%s", found.Devices[0], found.Degraded, diff)
			}
		})
	}
}

func FuzzVulkanHeaps(f *testing.F) {
	f.Add(vulkanListing(0, "0x13b5", "0xa8670000", "INTEGRATED_GPU", "Mali-G610", heapOf(0, 8<<30, 7<<30, "MEMORY_HEAP_DEVICE_LOCAL_BIT")))
	f.Add("GPU0:\nmemoryHeaps[0]:\nsize = -1 (\nHEAP_DEVICE_LOCAL_BIT\nbudget = 99999999999999999999\n")
	f.Fuzz(func(t *testing.T, text string) {
		for _, d := range parseVulkan(text) {
			if h := d.heap; h.size < 0 || h.size>>20 > backend.MaxMemoryMiB || h.budget < 0 || h.budget>>20 > backend.MaxMemoryMiB {
				t.Errorf("%+v", h)
			}
			if m := d.memory(); m != nil && (m.UsedByOthersMiB < 0 || m.TotalMiB <= 0) {
				t.Errorf("%+v", m)
			}
		}
	})
}
