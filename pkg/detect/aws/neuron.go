// Package aws finds AWS's Inferentia and Trainium chips.
package aws

import (
	"context"
	"errors"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
)

// Neuron finds the Inferentia and Trainium chips of AWS on the PCI bus, by their ids or by Amazon's driver, and reads
// the driver's class neuron_device in sysfs. The instance type that the firmware names decides nothing.
//
// Ranks run on NeuronCores, so each is listed as a device, a partition of its chip with its part of the memory. On
// Trainium2 and Trainium3 the runtime groups two physical cores to a logical one unless NEURON_LOGICAL_NC_CONFIG says
// otherwise; the logical cores of that default are listed. The variable is a process's own, so a device cannot follow
// it: where neuron-ls counts other cores, that is told and the ids stay.
//
// The driver does not say which /dev/neuronN is which chip, unless there is one alone. That, and the memory as measured,
// comes from neuron-ls by PCI address. Without it each chip is listed with all the nodes of which one is its own: the chips of
// the host can be used together, and not apart. NeuronLink rings and tori are read from sysfs, and need no tool where all chips of
// the host are in one.
//
// Sources: aws-neuron-driver (neuron_device.h, neuron_cdev.c, neuron_sysfs_metrics.c, v2/ and v3/neuron_dhal_*.c), the
// sysfs and neuron-ls user guides of the Neuron SDK, and outputs of neuron-ls that users published.
func Neuron() backend.Backend {
	return backend.NewOnPCI(neuronKind, isNeuron, list)
}

var neuronKind = backend.Kind{Backend: "neuron", Vendor: "aws", Family: v1alpha1.FamilyASIC}

func list(ctx context.Context, h *host.Host, functions []pci.Function, found *backend.Found) {
	chips := make([]*neuronChip, len(functions))
	for i, function := range functions {
		chips[i] = &neuronChip{Function: function, generation: neuronGenerations[function.DeviceID]}
	}
	nodes, nodeErr := readNeuronNodes(h.Files)
	pairNeuronNodes(chips, nodes)
	reports, toolErr := listNeuron(ctx, h, chips)
	takeNeuronReports(chips, nodes, reports)
	for _, chip := range chips {
		chip.list(h.Files, chips, nodes, found)
	}
	links, linkErr := neuronLinks(h.Files, chips, nodes, reports)
	found.Links = links
	found.Degrade(nodeErr, toolErr, groupingProblem(chips), linkErr)
}

// pairNeuronNodes gives chips their nodes as far as the kernel tells which is whose.
func pairNeuronNodes(chips []*neuronChip, nodes []*neuronNode) {
	for _, node := range nodes {
		for _, chip := range chips {
			if node.function != "" && node.function == chip.Path {
				chip.node = node
			}
		}
	}
	if len(chips) == 1 && len(nodes) == 1 && nodes[0].function == "" {
		chips[0].node = nodes[0]
	}
}

// takeNeuronReports adds what neuron-ls says of each chip, and the nodes that it tells.
func takeNeuronReports(chips []*neuronChip, nodes []*neuronNode, reports map[string]neuronReport) {
	for _, chip := range chips {
		report, ok := reports[chip.Address]
		if !ok {
			continue
		}
		chip.report = &report
		for _, node := range nodes {
			if chip.node == nil && node.number == report.number {
				chip.node = node
			}
		}
	}
}

// groupingProblem tells where processes on this host are set to see other cores than those listed.
func groupingProblem(chips []*neuronChip) error {
	for _, chip := range chips {
		if chip.report == nil {
			continue
		}
		if group := chip.report.grouping(chip.physicalCores()); group > 0 && group != chip.grouping() {
			return errors.New("neuron-ls groups other NeuronCores than the default: set NEURON_LOGICAL_NC_CONFIG to the " +
				"default in pods that run ranks, since the devices listed are of that")
		}
	}
	return nil
}
