// Package intel finds Intel's GPUs, NPUs and Gaudi accelerators.
package intel

import (
	"context"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
	"github.com/rankwright/rankwright/pkg/detect/sysfs"
)

// GPU finds the GPUs of Intel on the PCI bus, whichever of the drivers i915 and xe they are bound to: Data Center GPU
// Max and Flex, Arc, and the graphics of Intel's processors. A card is one device, also where it has two tiles: their
// memory and rates are counted together, as in Level Zero's composite hierarchy. In its flat one, which is the default of
// Data Center GPU Max, a process sees each tile as a device.
//
// Memory comes from the kernel where it shows it (xe: physical_vram_size_bytes of each tile, Intel's own builds of i915:
// lmem_total_bytes), else from Intel's xpu-smi, else it is nominal, but for what may be a virtual function in a guest.
// Graphics of a processor have none of their own and are listed without any, so that nothing is planned on them. xpu-smi also adds names, UUIDs, firmware and the Xe Links of Data
// Center GPU Max; it is matched by PCI address, its columns by their headings. What is used of the memory is not known.
func GPU() backend.Backend { return backend.NewOnPCI(intelGPUKind, isIntelGPU, listGPUs) }

const intelVendor = "8086"

var intelGPUKind = backend.Kind{Backend: "intel-gpu", Vendor: "intel", Family: v1alpha1.FamilyGPU}

func listGPUs(ctx context.Context, h *host.Host, gpus []pci.Function, found *backend.Found) {
	drm, drmErr := sysfs.ReadDRM(h.Files)
	cards := make([]intelCard, len(gpus))
	for i, gpu := range gpus {
		cards[i] = readIntelCard(h.Files, gpu, drm.ByFolder[gpu.Path])
	}
	toolErr := askXPU(ctx, h, cards)
	links, linkErr := xeLinks(ctx, h, cards)
	found.Links = links
	found.Degrade(drmErr, toolErr, linkErr)
	for _, card := range cards {
		found.Add(card.device(h.Files), backend.Reading{TemperatureMilliC: card.temperature(h.Files)}, backend.Signs{})
		found.Degrade(card.unmeasured())
	}
}

// isIntelGPU says whether a function is a display controller of Intel: 0300 where it can drive a display, 0380 where it
// has no outputs (Flex, Max).
func isIntelGPU(f pci.Function) bool {
	return f.VendorID == intelVendor && strings.HasPrefix(f.Class, "03")
}

// askXPU asks xpu-smi of the cards that have memory of their own; without one, or without a driver, there is nothing to
// learn. It is no problem where the tool is not installed.
func askXPU(ctx context.Context, h *host.Host, cards []intelCard) error {
	if !slices.ContainsFunc(cards, intelCard.asked) {
		return nil
	}
	answers, err := host.Ask(ctx, h, "", parseXPUDiscovery, host.XPUDiscovery...)
	for i := range cards {
		cards[i].xpu = answers[cards[i].Address]
	}
	return err
}
