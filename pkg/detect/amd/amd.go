// Package amd finds AMD's GPUs, Instinct accelerators and NPUs.
package amd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
	"github.com/rankwright/rankwright/pkg/detect/sysfs"
)

// GPU finds the GPUs and Instinct accelerators of AMD in sysfs: the PCI bus, amdgpu's files beside them, and the KFD
// topology for links and partitions. It runs no command, and never relates two lists by position.
//
// To an agent whose device cgroup has no render nodes the kernel does not show the KFD topology. Whole cards, hives in which
// all reach each other, and partitions of products whose compute dies are known are read without it; what is not known of
// them then is the rate between partitions of a card, and which of them uses its memory. Only where a device is lacking is
// that told.
//
// Graphics that are part of a processor have memory that the host shares: what the firmware sets aside for them, and what
// the driver can reach beside it. Both are said; the one that the driver gives to work, which depends on its version, is the
// total. With too little of it they are listed and nothing is put on them, and beside cards they are not listed.
//
// A card that is cut into compute partitions (CPX, DPX, …) is listed as its partitions.
func GPU() backend.Backend { return backend.NewOnPCI(amdKind, isAMDGPU, listGPUs) }

var amdKind = backend.Kind{Backend: "amd", Vendor: "amd", Family: v1alpha1.FamilyGPU}

func listGPUs(_ context.Context, h *host.Host, gpus []pci.Function, found *backend.Found) {
	drm, err := sysfs.ReadDRM(h.Files)
	found.Degrade(err)
	nodes, kfdErr := readKFD(h.Files)
	nodesOf := groupKFD(nodes, gpus)
	var cards []amdCard
	for _, gpu := range gpus {
		cards = append(cards, readAMDCard(h.Files, gpu, drm, nodesOf[gpu.Address]))
	}
	cards = withoutSpare(cards)
	settlePartitions(cards, drm)
	var lacking []error
	for i := range cards {
		card := &cards[i]
		devices := card.list(h.Files, drm)
		for _, device := range devices {
			reading := card.reading
			if len(devices) > 1 {
				reading = backend.Reading{} // of the whole card, and of none of its parts
			}
			found.Add(device, reading, card.signs)
		}
		if err := cmp.Or(card.partitionErr, card.missingErr); err != nil {
			lacking = append(lacking, fmt.Errorf("%s: %w", card.Address, err))
		}
	}
	links, err := amdLinks(cards)
	found.Links = links
	if lacking = append(lacking, err); errors.Join(lacking...) != nil || !errors.Is(kfdErr, fs.ErrPermission) {
		lacking = append(lacking, kfdErr)
	}
	found.Degrade(lacking...)
}

// isAMDGPU says whether a function is a display controller (class 03, where graphics cards and older Instincts are) or a
// processing accelerator (1200, newer Instincts) of AMD.
func isAMDGPU(f pci.Function) bool {
	return f.VendorID == "1002" && (strings.HasPrefix(f.Class, "03") || strings.HasPrefix(f.Class, "1200"))
}
