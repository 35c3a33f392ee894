package detect

import (
	"maps"
	"regexp"
	"slices"
)

// Invocation is a tool with its arguments.
type Invocation []string

// Arguments that stand for any of a form: a PCI address, a path or none, numbers by commas or none.
const (
	anyPCIAddress = "PCI ADDRESS"
	anyHook       = "--hook=PATH"
	anyChannels   = "--imex-channels=NUMBERS"
)

var argumentForms = map[string]*regexp.Regexp{
	anyPCIAddress: regexp.MustCompile(`^[0-9a-fA-F]{4,8}:[0-9a-fA-F]{2}:[0-9a-fA-F]{2}\.[0-7]$`),
	anyHook:       regexp.MustCompile(`^--hook=(/[A-Za-z0-9_-][A-Za-z0-9._-]*)*$`),
	anyChannels:   regexp.MustCompile(`^--imex-channels=(\d{1,4}(,\d{1,4})*)?$`),
}

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
		{"rankwright-cdi", "generate", "--make-nodes", anyHook, anyChannels},
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
			form := argumentForms[want]
			return form == nil && want == got || form != nil && form.MatchString(got)
		})
	})
}
