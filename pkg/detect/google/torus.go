package google

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/detect/pci"
)

// tpuGeneration is what tells a generation of TPUs from the others.
type tpuGeneration struct {
	// name is Google's (`v5p`), catalogue the name of its row there.
	name, catalogue string
	// dimensions of its torus of chips.
	dimensions int
	// cores is the number of devices that a chip is listed as.
	cores int
}

// tpuPCI is a PCI device id of vendor 1ae0, with the subsystem's where one id stands for two generations.
type tpuPCI struct{ device, subsystem string }

// tpuGenerations are the PCI ids of TPUs. Source: hardware_utils.py of JAX, as Google's DRA driver has them, too. Other
// ids of the vendor are disks (001f), network (0042) and others, and no TPUs.
var tpuGenerations = map[tpuPCI]tpuGeneration{
	{"0027", "004e"}: {name: "v2", catalogue: "TPU v2", dimensions: 2, cores: 1},
	{"0027", "004f"}: {name: "v3", catalogue: "TPU v3", dimensions: 2, cores: 1},
	{"005e", ""}:     {name: "v4", catalogue: "TPU v4", dimensions: 3, cores: 1},
	{"0063", ""}:     {name: "v5e", catalogue: "TPU v5e (v5 lite)", dimensions: 2, cores: 1},
	{"0062", ""}:     {name: "v5p", catalogue: "TPU v5p", dimensions: 3, cores: 1},
	{"006f", ""}:     {name: "v6e", catalogue: "TPU v6e (Trillium)", dimensions: 2, cores: 1},
	{"0076", ""}:     {name: "v7x", catalogue: "TPU7x (Ironwood)", dimensions: 3, cores: 2},
}

// tpuGenerationOf is the generation of TPUs that a function is of; zero where it is no TPU.
func tpuGenerationOf(function pci.Function) tpuGeneration {
	if function.VendorID != "1ae0" {
		return tpuGeneration{}
	}
	if generation, ok := tpuGenerations[tpuPCI{device: function.DeviceID}]; ok {
		return generation
	}
	return tpuGenerations[tpuPCI{function.DeviceID, function.SubsystemDeviceID}]
}

func (g tpuGeneration) compare(other tpuGeneration) int { return strings.Compare(g.name, other.name) }

// functionsPerChip is the number of PCI functions that each chip is shown as, on a host that has so many of the generation. A
// TPU7x is two, one for each of the devices that its runtime presents (ray-project/ray#65105, vllm-project/tpu-inference#1266);
// no more functions than a host has chips are a whole chip each.
func (g tpuGeneration) functionsPerChip(functions int) int {
	for shape := range hostShapes {
		if shape[0] == g.dimensions && functions <= shape[1] {
			return 1
		}
	}
	return g.cores
}

// hostShapes are the tori of chips that one host can hold, by dimensions and number of chips. Source: the machine types
// of Google Cloud (ct4p, ct5p and tpu7x with 4 chips; ct5lp and ct6e with 1, 4 or 8).
var hostShapes = map[[2]int][]int32{
	{2, 4}: {2, 2},
	{2, 8}: {2, 4},
	{3, 4}: {2, 2, 1},
}

func countTPUs(functions, perChip int) string {
	if perChip > 1 {
		return fmt.Sprintf("%d functions, %d to a chip,", functions, perChip)
	}
	return words.Counted(functions, "chip")
}

// iciDomain is the part of the ICI torus that a host's chips are, but for its members. On one host no dimension closes into a ring, so
// that a chip at a corner has one of its two links in each dimension that is longer than 1. The links that lead to other hosts are not
// counted: what a slice adds to them is not known on the host.
func (g tpuGeneration) iciDomain(product accelerator.Product, shape []int32) v1alpha1.LinkDomain {
	domain := v1alpha1.LinkDomain{Kind: "ICI", Topology: v1alpha1.TopologyTorus, Shape: slices.Clone(shape)}
	domain.PeerMBps = product.LinkMBps / int64(2*g.dimensions) / int64(g.cores)
	for _, size := range shape {
		if size > 1 {
			domain.DeviceMBps += domain.PeerMBps
		}
	}
	if g.cores > 1 {
		domain.Shape = append(domain.Shape, int32(g.cores))
	}
	return domain
}
