package aws

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
)

// neuronReport is what neuron-ls says of a chip. Of its fields, numa_node (a string) and cpu_affinity say what the kernel
// says, and neuron_processes whose the memory is, which others observe.
type neuronReport struct {
	number    int
	memoryMiB int64
	connected []int
	// listed is the number of cores as neuron-ls names them, group how many physical ones make one of them; 0 where it
	// does not say.
	listed, group int
}

// grouping is how many physical cores a listed one is made of; 0 where the report does not tell. The number of core ids
// counts logical cores in every version, nc_count physical ones in some.
func (r *neuronReport) grouping(physical int) int {
	switch {
	case r.group > 0:
		return r.group
	case r.listed > 0 && physical%r.listed == 0:
		return physical / r.listed
	default:
		return 0
	}
}

// listNeuron runs neuron-ls and returns its reports by PCI address.
func listNeuron(ctx context.Context, h *host.Host, chips []*neuronChip) (map[string]neuronReport, error) {
	missing := ""
	if slices.ContainsFunc(chips, func(c *neuronChip) bool { return c.node == nil && c.Driver == neuronDriver }) {
		missing = "which /dev/neuronN is which chip is told by neuron-ls only: install aws-neuronx-tools; until then the chips of the host can only be granted together"
	}
	return host.Ask(ctx, h, missing, parseNeuronLS, host.NeuronLS...)
}

// parseNeuronLS reads the array that neuron-ls -j prints. A device that cannot be read costs the others nothing.
func parseNeuronLS(output []byte) (map[string]neuronReport, error) {
	var entries []json.RawMessage
	if err := json.Unmarshal(output, &entries); err != nil {
		return nil, fmt.Errorf("%w: an array was expected", err)
	}
	var unread []error
	reports := map[string]neuronReport{}
	for i, entry := range entries[:min(len(entries), maxNeuronNodes)] {
		address, report, err := parseNeuronEntry(entry)
		if err != nil {
			unread = append(unread, fmt.Errorf("device %d: %w", i, err))
			continue
		}
		reports[address] = report
	}
	return reports, errors.Join(unread...)
}

func parseNeuronEntry(entry json.RawMessage) (address string, report neuronReport, err error) {
	var fields struct {
		Number    *int   `json:"neuron_device"`
		BDF       string `json:"bdf"`
		Connected []int  `json:"connected_to"`
		Memory    int64  `json:"memory_size"`
		Group     int    `json:"logical_neuroncore_config"`
		Cores     []int  `json:"neuroncore_ids"`
	}
	if err := json.Unmarshal(entry, &fields); err != nil {
		return "", report, err
	}
	address = fields.BDF
	if pci.IsAddress("0000:" + address) {
		address = "0000:" + address // versions before 2.21 leave the domain out
	}
	if !pci.IsAddress(address) {
		return "", report, fmt.Errorf("bdf %q is no PCI address", host.Clip(address, 32))
	}
	if fields.Number == nil || *fields.Number < 0 || *fields.Number >= maxNeuronNodes {
		return "", report, errors.New("neuron_device is no number of a node")
	}
	report.number = *fields.Number
	for _, number := range fields.Connected[:min(len(fields.Connected), maxNeuronNodes)] {
		if number >= 0 && number < maxNeuronNodes {
			report.connected = append(report.connected, number)
		}
	}
	if mib := fields.Memory >> 20; mib > 0 && mib <= backend.MaxMemoryMiB {
		report.memoryMiB = mib
	}
	if len(fields.Cores) <= maxNeuronCores {
		report.listed = len(fields.Cores)
	}
	if fields.Group > 0 && fields.Group <= maxNeuronCores {
		report.group = fields.Group
	}
	return address, report, nil
}
