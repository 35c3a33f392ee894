package google

import (
	"errors"
	"fmt"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

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
	return v1alpha1.Counted(functions, "chip")
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
