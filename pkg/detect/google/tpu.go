// Package google finds Google's TPUs.
package google

import (
	"context"
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
)

// TPU finds Google's TPUs by their PCI ids, never by the name of a device node: /dev/accelN belongs to the accelerators
// of other vendors (amdxdna, habanalabs, intel_vpu), too. It runs no command. What only Google's runtime knows, such as
// memory, is nominal and marked so.
//
// A chip is one device, but for TPU7x: each of its chips is two, as its runtime presents them, with ids that end in -0
// and -1. Where each of the two is a PCI function, neighbours on the bus are taken for a chip's.
func TPU() backend.Backend { return backend.New(tpuName, detect) }

const (
	tpuName   = "tpu"
	tpuVendor = "google"
)

func detect(_ context.Context, h *host.Host) (backend.Found, error) {
	functions, err := pci.Functions(h)
	var chips []tpuChip
	for _, function := range functions {
		if generation, ok := tpuGenerationOf(function); ok {
			chips = append(chips, tpuChip{Function: function, generation: generation})
		}
	}
	if len(chips) == 0 {
		return backend.Found{}, err
	}
	settleTPUFunctions(chips)
	nodes, accelErr := readAccel(h.Files)
	found := backend.Found{}
	for i := range chips {
		chips[i].read(h.Files, nodes)
		found.Devices = append(found.Devices, chips[i].devices()...)
	}
	links, linkErr := tpuLinks(chips)
	found.Links = links
	found.Degrade(err, accelErr, linkErr)
	return found, nil
}

// settleTPUFunctions says of each function whether it is a chip or a part of one. Functions come in order of their addresses.
func settleTPUFunctions(chips []tpuChip) {
	byGeneration := map[tpuGeneration][]*tpuChip{}
	for i := range chips {
		byGeneration[chips[i].generation] = append(byGeneration[chips[i].generation], &chips[i])
	}
	for generation, functions := range byGeneration {
		per := generation.functionsPerChip(len(functions))
		for i, function := range functions {
			function.core, function.cores = i%per, generation.cores/per
			function.whole = functions[i-i%per].Address
		}
	}
}

// deviceIDs are the ids of the devices that the function is listed as.
func (c *tpuChip) deviceIDs() []v1alpha1.DeviceID {
	whole := tpuID(c.Address)
	if c.generation.cores < 2 {
		return []v1alpha1.DeviceID{whole}
	}
	var ids []v1alpha1.DeviceID
	for core := range c.cores {
		ids = append(ids, v1alpha1.DeviceID(fmt.Sprintf("%s-%d", whole, c.core+core)))
	}
	return ids
}

func tpuID(address string) v1alpha1.DeviceID { return v1alpha1.DeviceID(tpuVendor + "-" + address) }
