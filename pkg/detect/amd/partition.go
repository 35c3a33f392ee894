package amd

import (
	"cmp"
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/sysfs"
)

// partitionCount is the number of partitions of a mode. CPX is not here: it has as many as the product has compute dies.
var partitionCount = map[string]int{"SPX": 1, "DPX": 2, "TPX": 3, "QPX": 4}

// settlePartitions decides into how many parts each card is cut: what the mode says, else the highest number of a part
// among the cards of the same product and mode, since the kernel can fail to start one. It keeps the KFD nodes of the
// devices that the card will be listed as: those parts that are there, or none where nothing shows the parts.
func settlePartitions(cards []amdCard, drm sysfs.DRM) {
	type kind struct{ device, mode string }
	parts := map[kind]int{}
	for i := range cards {
		c := &cards[i]
		parts[kind{c.DeviceID, c.compute}] = max(parts[kind{c.DeviceID, c.compute}], c.shownParts())
	}
	for i := range cards {
		c := &cards[i]
		c.parts = parts[kind{c.DeviceID, c.compute}]
		switch {
		case c.whole():
			c.parts = 1
			c.nodes = c.nodes[:min(1, len(c.nodes))]
		case len(c.nodes) < 2 && len(c.driverParts(drm)) > 1:
			c.nodes = c.driverParts(drm)
			c.parts = len(c.nodes)
		case len(c.nodes) < 2:
			c.partitionErr = fmt.Errorf("the card is in mode %s, but its partitions are not shown: the KFD topology shows them to who may open "+
				"/dev/dri/renderD* (device cgroup), which a privileged container may", c.compute)
			c.parts, c.nodes = 1, nil
		case len(c.nodes) < c.parts:
			c.missingErr = fmt.Errorf("%d of %d partitions are in the KFD topology", len(c.nodes), c.parts)
		}
	}
}

// shownParts is the number of partitions that the mode has, or that there must be by the numbers of those that are shown.
func (c *amdCard) shownParts() int {
	parts := max(1, partitionCount[c.compute])
	for _, node := range c.nodes {
		parts = max(parts, node.partition+1)
	}
	return parts
}

// whole says whether the card is one device: by amdgpu's mode, or where there is none by KFD.
func (c *amdCard) whole() bool {
	if c.compute == "" || c.Driver != amdDriver {
		return len(c.nodes) < 2
	}
	return partitionCount[c.compute] == 1
}

// partitions lists a card that is cut into compute partitions (XCPs). Each has a KFD node and a render node of its own,
// but all share the PCI function, and together they have at most the card's memory.
func (c *amdCard) partitions(files host.Files, drm sysfs.DRM) []v1alpha1.Device {
	memory := c.splitMemory()
	mode, whole := c.partitionMode(), c.device()
	devices := make([]v1alpha1.Device, 0, len(c.nodes))
	for i, node := range c.nodes {
		device := *whole.DeepCopy()
		device.ID = c.partitionID(node)
		device.UUID = ""
		device.Partition = &v1alpha1.DevicePartition{
			Kind: mode, Parent: c.deviceID(), Profile: joined(mode, c.memoryMode), Index: int32(node.partition),
		}
		render := sysfs.DRMNodes{}
		if minor := node.properties["drm_render_minor"]; minor > 0 && minor < 1<<20 {
			render = drm.OfRender(int(minor))
		}
		device.Index, device.Paths = backend.FirstIndex(render.Renders), c.paths(render)
		device.Memory = backend.Memory(memory[i]>>20, c.partUsedBytes(files, node)>>20, v1alpha1.SourceKernel)
		device.ComputeUnits = cmp.Or(node.computeUnits(), c.product.ComputeUnits/int32(c.parts))
		device.Performance = backend.SharePerformance(device.Performance, int64(c.parts))
		devices = append(devices, device)
	}
	return devices
}

// partUsedBytes is what is used of a partition's memory. Where KFD does not say it, the card's use counts for all in equal parts.
func (c *amdCard) partUsedBytes(files host.Files, node kfdNode) int64 {
	if node.number == unseenNode {
		return c.usedBytes / int64(c.parts)
	}
	return kfdUsedBytes(files, node.gpuID)
}

func (c *amdCard) partitionID(node kfdNode) v1alpha1.DeviceID {
	return v1alpha1.DeviceID(fmt.Sprintf("%s-xcp%d", c.deviceID(), node.partition))
}

// partitionMode is the mode as amdgpu says it; older drivers do not, and the number of partitions tells it.
func (c *amdCard) partitionMode() string {
	byCount := map[int]string{2: "DPX", 3: "TPX", 4: "QPX", 6: "CPX", 8: "CPX"}
	return cmp.Or(c.compute, byCount[c.parts], "XCP")
}

// splitMemory gives each partition what its memory banks hold, or equal parts where KFD does not say so or says more
// than the card has.
func (c *amdCard) splitMemory() []int64 {
	parts := make([]int64, len(c.nodes))
	var sum int64
	complete := true
	for i, node := range c.nodes {
		parts[i] = int64(min(node.memoryBytes, 1<<50))
		sum += parts[i]
		complete = complete && parts[i] > 0
	}
	if complete && sum <= c.totalBytes {
		return parts
	}
	for i := range parts {
		parts[i] = c.totalBytes / int64(c.parts)
	}
	return parts
}

func joined(mode, memory string) string {
	if memory == "" {
		return mode
	}
	return mode + "/" + memory
}
