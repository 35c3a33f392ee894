package detect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
)

// AMD finds the GPUs and Instinct accelerators of AMD in sysfs: the PCI bus, amdgpu's files beside them, and the KFD
// topology for links and partitions. It runs no command, and never relates two lists by position.
//
// Graphics that are part of a processor are not listed: their memory is the host's (see integrated). A card that is cut
// into compute partitions (CPX, DPX, …) is listed as its partitions.
func AMD() Backend { return amdBackend{} }

const amdName = "amd"

type amdBackend struct{}

func (amdBackend) Name() string { return amdName }

func (amdBackend) Detect(_ context.Context, host *Host) (Found, error) {
	functions, err := pciFunctions(host)
	gpus := slices.DeleteFunc(slices.Clone(functions), func(f pciFunction) bool { return !isAMDGPU(f) })
	if len(gpus) == 0 {
		return Found{}, err
	}
	problems := []error{err}
	drm, err := readDRM(host.Files)
	problems = append(problems, err)
	nodes, err := readKFD(host.Files)
	if err != nil {
		err = fmt.Errorf("links and partitions are not known in full: %w: let the agent's device cgroup open /dev/dri/renderD*", err)
	}
	problems = append(problems, err)

	nodesOf := groupKFD(nodes, gpus)
	var cards []amdCard
	for _, gpu := range gpus {
		card := readAMDCard(host.Files, gpu, drm, nodesOf[gpu.Address])
		if !card.integrated() {
			cards = append(cards, card)
		}
	}
	settlePartitions(cards)
	found := Found{}
	for i := range cards {
		found.Devices = append(found.Devices, cards[i].list(host.Files, drm)...)
		if err := cmp.Or(cards[i].partitionErr, cards[i].missingErr); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", cards[i].Address, err))
		}
	}
	found.Links, err = amdLinks(cards)
	problems = append(problems, err)
	found.Degraded = joinProblems(problems)
	return found, nil
}

// isAMDGPU says whether a function is a display controller (class 03, where graphics cards and older Instincts are) or a
// processing accelerator (1200, newer Instincts) of AMD.
func isAMDGPU(f pciFunction) bool {
	return f.VendorID == "1002" && (strings.HasPrefix(f.Class, "03") || strings.HasPrefix(f.Class, "1200"))
}
