// Package google finds Google's TPUs.
package google

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
	"github.com/rankwright/rankwright/pkg/detect/sysfs"
)

// TPU finds Google's TPUs by their PCI ids, never by the name of a device node: /dev/accelN belongs to the accelerators
// of other vendors (amdxdna, habanalabs, intel_vpu), too. It runs no command. What only Google's runtime knows, such as
// memory, is nominal and marked so.
//
// A chip is one device, but for TPU7x: each of its chips is two, as its runtime presents them, with ids that end in -0
// and -1. Where each of the two is a PCI function, neighbours on the bus are taken for a chip's.
func TPU() backend.Backend {
	return backend.NewOnPCI(tpuKind, func(f pci.Function) bool { return tpuGenerationOf(f).cores > 0 }, list)
}

var tpuKind = backend.Kind{Backend: "tpu", Vendor: "google", Family: v1alpha1.FamilyTPU}

func list(_ context.Context, h *host.Host, functions []pci.Function, found *backend.Found) {
	accel, err := sysfs.ClassMembers(h.Files, "accel")
	found.Degrade(err)
	byGeneration := map[tpuGeneration][]pci.Function{}
	for _, function := range functions {
		generation := tpuGenerationOf(function)
		byGeneration[generation] = append(byGeneration[generation], function)
	}
	for _, generation := range slices.SortedFunc(maps.Keys(byGeneration), tpuGeneration.compare) {
		generation.list(h.Files, byGeneration[generation], accel, found)
	}
}

// list adds the chips of a generation, and the links between them. Functions come in order of their addresses.
func (g tpuGeneration) list(files host.Files, functions []pci.Function, accel map[string][]sysfs.Member, found *backend.Found) {
	per := g.functionsPerChip(len(functions))
	var all []v1alpha1.Device
	var product accelerator.Product
	for i, function := range functions {
		var device v1alpha1.Device
		device, product, _ = tpuKind.Device(files, function, g.catalogue)
		device.Architecture = g.name
		device.Paths, device.Index = tpuNodes(files, function, accel[function.Path])
		device.Health = backend.DriverHealth(device.Driver, device.Paths, "bind vfio-pci, or load Google's accel driver on v4 and older")
		if g.cores == 1 {
			all = append(all, device)
			continue
		}
		first, own := i%per, g.cores/per
		for _, core := range backend.Parts(device, g.cores, "core")[first : first+own] {
			core.Partition.Parent = tpuKind.ID(functions[i-first].Address)
			all = append(all, core)
		}
	}
	found.Devices = append(found.Devices, all...)
	if len(functions) < 2 {
		return
	}
	shape, ok := hostShapes[[2]int{g.dimensions, len(functions) / per}]
	if !ok || len(functions)%per > 0 {
		found.Degrade(fmt.Errorf("no host has %s of TPU %s: some may be missing, and how the others are linked is not known",
			countTPUs(len(functions), per), g.name))
		return
	}
	domain := g.iciDomain(product, shape)
	domain.Name, domain.Members = "ici-"+functions[0].Address, backend.IDs(all)
	found.Links.Domains = append(found.Links.Domains, domain)
}

// tpuNodes are the device nodes of a chip, with the number of the first: /dev/accelN of its driver (v4 and older), or /dev/vfio/N of
// its IOMMU group with the node that all of VFIO need.
func tpuNodes(files host.Files, function pci.Function, accel []sysfs.Member) (paths []string, number *int32) {
	if number = sysfs.FirstNumber(accel, "accel"); number != nil {
		paths = []string{fmt.Sprint("/dev/accel", *number)}
	} else if group, err := files.ReadLink(path.Join(function.Path, "iommu_group")); err == nil && function.Driver == "vfio-pci" {
		number = sysfs.FirstNumber([]sysfs.Member{{Name: path.Base(group)}}, "")
		paths = []string{path.Join("/dev/vfio", path.Base(group)), "/dev/vfio/vfio"}
	}
	if number == nil || !host.Exists(files, paths[0]) {
		return nil, nil
	}
	return paths, number
}
