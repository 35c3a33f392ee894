package generic

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
)

// vulkanHeap is a heap of a device's memory in bytes. budget is what a process can have of it now; 0 where the driver does
// not say (VK_EXT_memory_budget).
type vulkanHeap struct{ size, budget int64 }

// memory returns the device's memory for the inventory; nil where its size is not known or not credible.
func (d vulkanDevice) memory() *v1alpha1.DeviceMemory {
	total := d.heap.size >> 20
	if total <= 0 || total > backend.MaxMemoryMiB {
		return nil
	}
	memory := &v1alpha1.DeviceMemory{TotalMiB: total, Source: v1alpha1.SourceDriver}
	if d.heap.budget > 0 {
		memory.UsedByOthersMiB = backend.UsedInSteps(max(0, d.heap.size-d.heap.budget)>>20, total)
	}
	if d.integrated {
		memory.Shared = &v1alpha1.SharedMemory{HostMiB: total}
	}
	return memory
}

// takeVulkanHeaps gives devices of the summary the heaps of those that are the same by ids and name. Of several that are the
// same each has what the least of them has.
func takeVulkanHeaps(devices, listed []vulkanDevice) {
	for i := range devices {
		d := &devices[i]
		for _, l := range listed {
			same := l.is(d.vendor, d.device) && l.name == d.name
			if same && l.heap.size > 0 && (d.heap.size == 0 || l.heap.size < d.heap.size) {
				d.heap = l.heap
			}
		}
	}
}

// vulkanHeapLine matches the line that a heap begins with.
var vulkanHeapLine = regexp.MustCompile(`^memoryHeaps\[\d{1,2}\]:$`)

// read takes a line of a heap, and the heap for the largest one where the line says that it is local to the device.
func (h *vulkanHeap) read(line, name, value string, largest *vulkanHeap) {
	switch {
	case name == "size":
		h.size = vulkanBytes(value)
	case name == "budget":
		h.budget = vulkanBytes(value)
	case strings.HasSuffix(line, "HEAP_DEVICE_LOCAL_BIT") && h.size > largest.size:
		*largest = *h
	}
}

// vulkanBytes reads `8589934592 (0x200000000) (8.00 GiB)`; 0 where it is no size.
func vulkanBytes(text string) int64 {
	digits, _, _ := strings.Cut(text, " ")
	size, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0
	}
	return backend.InRange(size)
}
