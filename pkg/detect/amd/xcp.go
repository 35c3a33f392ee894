package amd

import (
	"slices"
	"strings"

	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/sysfs"
)

// computeDies are the compute dies of the products that can be cut into partitions, by PCI device id: in mode CPX each die is
// one. Source: AMD's data sheets of Instinct MI300A (6 XCDs), MI300X, MI325X, MI350X and MI355X (8); for MI308X (4) the KFD
// topology that ROCm/k8s-device-plugin publishes of one. Virtual functions and HF variants have ids of their own.
var computeDies = map[string]int{
	"74a0": 6, "74a1": 8, "74a9": 8, "74bd": 8, "74b5": 8, "74a5": 8, "74b9": 8, "74a2": 4, "74a8": 4, "74b6": 4, "75a0": 8, "75a3": 8,
}

// unseenNode is the number of a node that stands for a partition which the KFD topology does not show.
const unseenNode = -1

// inKFD says whether the KFD topology shows the card.
func (c *amdCard) inKFD() bool { return len(c.nodes) > 0 && c.nodes[0].number != unseenNode }

// driverParts are the card's partitions by amdgpu's own files alone: how many the mode makes of the product, and the render
// node of each. The first is the PCI function's own node. For the others amdgpu makes platform devices (amdgpu_xcp_N) when it
// starts the card, one after the other (Linux, amdgpu_xcp.c and amdgpu_xcp_drv.c), so that their minors and their numbers
// follow on. None where they do not, as after a card was started anew in another order: then they are not guessed.
func (c *amdCard) driverParts(drm sysfs.DRM) []kfdNode {
	count := partitionCount[c.compute]
	if c.compute == "CPX" {
		count = computeDies[c.DeviceID]
	}
	if count < 2 || len(c.drm.Renders) != 1 {
		return nil
	}
	first, firstXCP := c.drm.Renders[0], 0
	parts := []kfdNode{unseenPart(first, 0)}
	for part := 1; part < count; part++ {
		number, ok := xcpNumber(drm.FolderOfRender[first+part])
		if part == 1 {
			firstXCP = number
		}
		if !ok || number != firstXCP+part-1 {
			return nil
		}
		parts = append(parts, unseenPart(first+part, part))
	}
	return slices.Clip(parts)
}

func unseenPart(render, partition int) kfdNode {
	return kfdNode{number: unseenNode, partition: partition, properties: kfdProperties{"drm_render_minor": uint64(render)}}
}

// xcpNumber is the number of a platform device that amdgpu made for a partition: amdgpu_xcp.N as Linux names it, amdgpu_xcp_N
// as AMD's package of the driver does.
func xcpNumber(folder string) (int, bool) {
	number, ok := strings.CutPrefix(folder, "/sys/devices/platform/amdgpu_xcp")
	if !ok || number == "" || number[0] != '.' && number[0] != '_' {
		return 0, false
	}
	return host.ParseIndex(number[1:])
}
