package host

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

// Tools of vendors as detection asks them, each of which backends run by its name here. What an answer means is written where it is
// read.
var (
	NeuronLS      = Invocation{"neuron-ls", "-j"}
	FuriosaStatus = Invocation{"furiosa-smi", "status", "--format", "json"}
	GCInfo        = Invocation{"gc-info", "-l"}
	HailoIdentify = Invocation{"hailortcli", "fw-control", "identify"}
	NPUInfo       = Invocation{"npu-smi", "info"}
	NPUTopology   = Invocation{"npu-smi", "info", "-t", "topo"}
	// GaudiQuery asks for a line of comma-separated values for each card.
	GaudiQuery = Invocation{
		"hl-smi", "-Q", "bus_id,module_id,uuid,name,memory.total,memory.used,temperature.aip,power.draw,utilization.aip",
		"-f", "csv,noheader,nounits",
	}
	// XPUDiscovery names properties by numbers that are the same in versions 1 and 2 of xpu-smi.
	XPUDiscovery = Invocation{"xpu-smi", "discovery", "--dump", "1,2,4,9,11,16,22"}
	XPUTopology  = Invocation{"xpu-smi", "topology", "-m"}
	NVMLQuery    = Invocation{"rankwright-nvml", "query"}
	SMIReport    = Invocation{"nvidia-smi", "-q", "-x"}
	SMIList      = Invocation{"nvidia-smi", "-L"}
	SMINVLinks   = Invocation{"nvidia-smi", "nvlink", "-s"}
	SMITopology  = Invocation{"nvidia-smi", "topo", "-m"}
	QaicQuery    = Invocation{"qaic-util", "-q"}
	TTSnapshot   = Invocation{"tt-smi", "-s", "--snapshot_no_tty"}
)

// invocations are all that a detection runs on a Linux host, and what else the agent asks of a driver, by vendor. Tools that
// need credentials (csctl) are not among them.
var invocations = map[string][]Invocation{
	"aws":       {NeuronLS},
	"furiosa":   {FuriosaStatus},
	"graphcore": {GCInfo},
	"hailo":     {HailoIdentify},
	"huawei":    {NPUInfo, NPUTopology},
	"intel":     {GaudiQuery, XPUDiscovery, XPUTopology},
	"nvidia": {
		NVMLQuery,
		{"rankwright-nvml", "events"},
		{"rankwright-cdi", "generate", "--make-nodes", anyHook, anyChannels},
		SMIReport,
		slices.Concat(SMIReport, Invocation{"-i", anyPCIAddress}),
		SMIList, SMINVLinks, SMITopology,
	},
	"qualcomm":    {QaicQuery},
	"tenstorrent": {TTSnapshot},
}

// ToolVendors returns the vendors whose tools a detection runs, sorted.
func ToolVendors() []string { return slices.Sorted(maps.Keys(invocations)) }

// InvocationsOf returns every command line that a detection runs of the vendors' tools.
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
