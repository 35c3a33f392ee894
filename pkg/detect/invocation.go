package detect

import (
	"maps"
	"regexp"
	"slices"
)

// Invocation is a tool with its arguments.
type Invocation []string

// anyPCIAddress stands for an argument that is a PCI address.
const anyPCIAddress = "PCI ADDRESS"

var pciAddressArgument = regexp.MustCompile(`^[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]$`)

// invocations are all that a detection runs on a Linux host, and what else the agent asks of a driver, by vendor. Tools that
// need credentials (csctl) are not among them.
var invocations = map[string][]Invocation{
	"aws":       {{"neuron-ls", "-j"}},
	"furiosa":   {{"furiosa-smi", "status", "--format", "json"}},
	"graphcore": {{"gc-info", "-l"}},
	"hailo":     {{"hailortcli", "fw-control", "identify"}},
	"huawei":    {{npuSMI, "info"}, {npuSMI, "info", "-t", "topo"}},
	"intel":     {hlSMI, {xpuSMI, "discovery", "--dump", xpuProperties}, {xpuSMI, "topology", "-m"}},
	"nvidia": {
		{nvmlTool, "query"},
		{nvmlTool, "events"},
		{nvidiaSMI, "-q", "-x"},
		{nvidiaSMI, "-q", "-x", "-i", anyPCIAddress},
		{nvidiaSMI, "-L"},
		{nvidiaSMI, "nvlink", "-s"},
		{nvidiaSMI, "topo", "-m"},
	},
	"qualcomm":    {{"qaic-util", "-q"}},
	"tenstorrent": {{"tt-smi", "-s", "--snapshot_no_tty"}},
}

// ToolVendors are the vendors whose tools a detection runs, in order.
func ToolVendors() []string { return slices.Sorted(maps.Keys(invocations)) }

// InvocationsOf are all that a detection runs of the vendors' tools.
func InvocationsOf(vendors ...string) []Invocation {
	var all []Invocation
	for _, vendor := range vendors {
		all = append(all, invocations[vendor]...)
	}
	return all
}

// Allows says whether a command line is one of the invocations.
func Allows(allowed []Invocation, argv []string) bool {
	return slices.ContainsFunc(allowed, func(i Invocation) bool {
		return slices.EqualFunc(i, argv, func(want, got string) bool {
			return want == got || want == anyPCIAddress && pciAddressArgument.MatchString(got)
		})
	})
}
