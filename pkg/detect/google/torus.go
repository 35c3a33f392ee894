package google

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
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

// tpuGenerationOf says whether a function is a TPU, and of which generation.
func tpuGenerationOf(function pci.Function) (tpuGeneration, bool) {
	if function.VendorID != "1ae0" {
		return tpuGeneration{}, false
	}
	generation, ok := tpuGenerations[tpuPCI{device: function.DeviceID}]
	if !ok {
		generation, ok = tpuGenerations[tpuPCI{function.DeviceID, function.SubsystemDeviceID}]
	}
	return generation, ok
}

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

// linksPerChip is the number of a chip's ICI links: two for each dimension.
func (g tpuGeneration) linksPerChip() int64 { return int64(2 * g.dimensions) }

// hostShapes are the tori of chips that one host can hold, by dimensions and number of chips. Source: the machine types
// of Google Cloud (ct4p, ct5p and tpu7x with 4 chips; ct5lp and ct6e with 1, 4 or 8).
var hostShapes = map[[2]int][]int32{
	{2, 4}: {2, 2},
	{2, 8}: {2, 4},
	{3, 4}: {2, 2, 1},
}

// tpuLinks joins the chips of the host to the part of the ICI torus that they are. The links that lead to other hosts
// are not counted: what a slice adds to them is not known on the host.
func tpuLinks(chips []tpuChip) (v1alpha1.Links, error) {
	var generations []tpuGeneration
	byGeneration := map[tpuGeneration][]tpuChip{}
	for _, chip := range chips {
		if _, seen := byGeneration[chip.generation]; !seen {
			generations = append(generations, chip.generation)
		}
		byGeneration[chip.generation] = append(byGeneration[chip.generation], chip)
	}
	var links v1alpha1.Links
	var unknown []error
	for _, generation := range generations {
		members := byGeneration[generation]
		if len(members) < 2 {
			continue
		}
		per := generation.functionsPerChip(len(members))
		shape, ok := hostShapes[[2]int{generation.dimensions, len(members) / per}]
		if !ok || len(members)%per > 0 {
			unknown = append(unknown, fmt.Errorf("no host has %s of TPU %s: some may be missing, and how the others "+
				"are linked is not known", countTPUs(len(members), per), generation.name))
			continue
		}
		links.Domains = append(links.Domains, iciDomain(members, shape))
	}
	return links, errors.Join(unknown...)
}

func countTPUs(functions, perChip int) string {
	if perChip > 1 {
		return fmt.Sprintf("%d functions, %d to a chip,", functions, perChip)
	}
	return words.Counted(functions, "chip")
}

// iciDomain is the torus of a host's chips. On one host no dimension closes into a ring, so that a chip at a corner has
// one link in each dimension that is longer than 1.
func iciDomain(chips []tpuChip, shape []int32) v1alpha1.LinkDomain {
	first := chips[0]
	domain := v1alpha1.LinkDomain{
		Name: "ici-" + first.Address, Kind: "ICI", Topology: v1alpha1.TopologyTorus, Shape: slices.Clone(shape),
	}
	var neighbours int64
	for _, size := range shape {
		if size > 1 {
			neighbours++
		}
	}
	cores := int64(first.generation.cores)
	domain.PeerMBps = first.product.LinkMBps / first.generation.linksPerChip() / cores
	domain.DeviceMBps = domain.PeerMBps * neighbours
	if cores > 1 {
		domain.Shape = append(domain.Shape, int32(cores))
	}
	for _, chip := range chips {
		domain.Members = append(domain.Members, chip.deviceIDs()...)
	}
	slices.Sort(domain.Members)
	return domain
}
