// Package amd finds AMD's GPUs, Instinct accelerators and NPUs.
package amd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
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
func GPU() backend.Backend { return backend.New(amdName, detectGPUs) }

const amdName = "amd"

func detectGPUs(_ context.Context, h *host.Host) (backend.Found, error) {
	functions, err := pci.Functions(h)
	gpus := slices.DeleteFunc(slices.Clone(functions), func(f pci.Function) bool { return !isAMDGPU(f) })
	if len(gpus) == 0 {
		return backend.Found{}, err
	}
	problems := []error{err}
	drm, err := sysfs.ReadDRM(h.Files)
	problems = append(problems, err)
	nodes, kfdErr := readKFD(h.Files)
	nodesOf := groupKFD(nodes, gpus)
	var cards []amdCard
	for _, gpu := range gpus {
		cards = append(cards, readAMDCard(h.Files, gpu, drm, nodesOf[gpu.Address]))
	}
	cards = withoutSpare(cards)
	settlePartitions(cards, drm)
	found := backend.Found{Readings: backend.Readings{}, Signs: map[v1alpha1.DeviceID]backend.Signs{}}
	var lacking []error
	for i := range cards {
		devices := cards[i].list(h.Files, drm)
		found.Devices = append(found.Devices, devices...)
		for _, device := range devices {
			found.Signs[device.ID] = cards[i].signs
		}
		if len(devices) == 1 {
			found.Readings[devices[0].ID] = cards[i].reading
		}
		if err := cmp.Or(cards[i].partitionErr, cards[i].missingErr); err != nil {
			lacking = append(lacking, fmt.Errorf("%s: %w", cards[i].Address, err))
		}
	}
	found.Links, err = amdLinks(cards)
	lacking = append(lacking, err)
	problems = append(problems, lacking...)
	if errors.Join(lacking...) != nil || !errors.Is(kfdErr, fs.ErrPermission) {
		problems = append(problems, kfdErr)
	}
	found.Degrade(problems...)
	return found, nil
}

// isAMDGPU says whether a function is a display controller (class 03, where graphics cards and older Instincts are) or a
// processing accelerator (1200, newer Instincts) of AMD.
func isAMDGPU(f pci.Function) bool {
	return f.VendorID == "1002" && (strings.HasPrefix(f.Class, "03") || strings.HasPrefix(f.Class, "1200"))
}
