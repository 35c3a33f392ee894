package main

import (
	_ "embed"
	"fmt"
	"strings"
	"text/template"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

// nvidiaHost is a host with GPUs of one product.
type nvidiaHost struct {
	Driver, CUDA string
	GPUs         []nvidiaGPU
	// Links is the number of NVLinks from a GPU to the switches, LinkRate what nvlink -s prints of each; 0 for none.
	Links    int
	LinkRate string
	// Direct is the number of NVLinks between two GPUs, by their numbers, the smaller first.
	Direct map[[2]int]int
}

// nvidiaGPU is a GPU as nvidia-smi reports it.
type nvidiaGPU struct {
	compose.Function
	Product, Architecture, UUID, VBIOS string
	// Index is the number of the device node; nvidia-smi counts the GPUs that it is given.
	Index, MemoryMiB, ReservedMiB int
	Fabric                        bool
	// Cluster and Clique are the GPU's place in a fabric that spans hosts.
	Cluster, Clique string
	// MIG are the GPU's MIG devices. MIGMode is the MIG mode of a GPU without such devices, else empty.
	MIG     []nvidiaMIG
	MIGMode string
}

//go:embed nvidia-smi.xml.tmpl
var nvidiaSMISource string

var nvidiaSMI = template.Must(template.New("nvidia-smi -q -x").Parse(nvidiaSMISource))

// ID is an id of the function's as nvidia-smi prints it: device, then vendor (233010DE).
func (g nvidiaGPU) ID(which int) string {
	vendor, device, _ := strings.Cut(strings.Fields(g.IDs)[which], ":")
	return strings.ToUpper(device + vendor)
}

// BusID is the address as nvidia-smi prints it.
func (g nvidiaGPU) BusID() string { return "0000" + strings.ToUpper(g.Address()) }

// FreeMiB returns the memory that neither the driver nor a process holds.
func (g nvidiaGPU) FreeMiB() int { return g.MemoryMiB - g.ReservedMiB }

// CurrentMIG is the MIG mode: products that have none do not tell it.
func (g nvidiaGPU) CurrentMIG() string {
	switch {
	case len(g.MIG) > 0:
		return "Enabled"
	case g.MIGMode != "":
		return g.MIGMode
	case g.Fabric:
		return "Disabled"
	default:
		return "N/A"
	}
}

// addNVIDIA adds the GPUs to the bus, the driver's files, and what nvidia-smi prints of them, and returns the host.
func addNVIDIA(h *compose.Host, n nvidiaHost) *compose.Host {
	addNVIDIADriver(h, n)
	report, err := n.report()
	h.Keep(err)
	h.Command(report, "nvidia-smi", "-q", "-x")
	h.Command(n.list(), "nvidia-smi", "-L")
	h.Command(n.topology(), "nvidia-smi", "topo", "-m")
	h.Command(n.nvlinks(), "nvidia-smi", "nvlink", "-s")
	return h
}

// addNVIDIADriver adds what the kernel shows of the GPUs.
func addNVIDIADriver(h *compose.Host, n nvidiaHost) {
	addNVIDIAVersion(h, n.Driver)
	for _, g := range n.GPUs {
		addNVIDIAFunction(h, g.Function, g.Index, g.Product, g.UUID, g.VBIOS)
		addCapabilities(h, g)
	}
}

func addNVIDIAVersion(h *compose.Host, driver string) {
	h.File("/proc/driver/nvidia/version", fmt.Sprintf(
		"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  %s  Release Build\nGCC version:  gcc version 13.3.0", driver))
}

// addNVIDIAFunction adds a GPU to the bus, its node, and what the driver says of it.
func addNVIDIAFunction(h *compose.Host, f compose.Function, minor int, product, uuid, vbios string) {
	h.PCI(f)
	h.Device(fmt.Sprintf("/dev/nvidia%d", minor))
	h.File("/proc/driver/nvidia/gpus/"+f.Address()+"/information", fmt.Sprintf(
		"Model: \t\t %s\nIRQ:   \t\t %d\nGPU UUID: \t %s\nVideo BIOS: \t %s\nBus Type: \t PCIe\nBus Location: \t %s\nDevice Minor: \t %d\nGPU Excluded:\t No",
		product, 200+minor, uuid, vbios, f.Address(), minor))
}

// report is what `nvidia-smi -q -x` prints.
func (n nvidiaHost) report() (string, error) {
	var text strings.Builder
	err := nvidiaSMI.Execute(&text, n)
	return text.String(), err
}

func (n nvidiaHost) list() string {
	var text strings.Builder
	for number, g := range n.GPUs {
		fmt.Fprintf(&text, "GPU %d: %s (UUID: %s)\n", number, g.Product, g.UUID)
		for i, m := range g.MIG {
			fmt.Fprintf(&text, "  MIG %-11s Device %2d: (UUID: %s)\n", m.Profile, i, m.uuid(g, i))
		}
	}
	return text.String()
}

// topology is the matrix of `nvidia-smi topo -m`, with its terminal escapes.
func (n nvidiaHost) topology() string {
	var text strings.Builder
	text.WriteString("\t\x1b[4m")
	for number := range n.GPUs {
		fmt.Fprintf(&text, "GPU%d\t", number)
	}
	text.WriteString("CPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n")
	for number, a := range n.GPUs {
		fmt.Fprintf(&text, "GPU%d\t", number)
		for other := range n.GPUs {
			text.WriteString(n.relation(number, other) + "\t")
		}
		fmt.Fprintf(&text, "\t%d\t\tN/A\n", a.NUMA)
	}
	text.WriteString("\nLegend:\n\n  X    = Self\n  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)\n" +
		"  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node\n" +
		"  NV#  = Connection traversing a bonded set of # NVLinks\n")
	return text.String()
}

func (n nvidiaHost) relation(a, b int) string {
	switch {
	case a == b:
		return " X "
	case n.between(a, b) > 0:
		return fmt.Sprintf("NV%d", n.between(a, b))
	case n.GPUs[a].NUMA == n.GPUs[b].NUMA:
		return "NODE"
	default:
		return "SYS"
	}
}

// between returns the number of NVLinks that the matrix shows between two GPUs: behind switches all links of a GPU lead to every
// other GPU.
func (n nvidiaHost) between(a, b int) int {
	if len(n.GPUs[a].MIG) > 0 || len(n.GPUs[b].MIG) > 0 {
		return 0
	}
	return max(n.Links, n.Direct[[2]int{min(a, b), max(a, b)}])
}

// links is the number of a GPU's active NVLinks.
func (n nvidiaHost) links(number int) int {
	links := n.Links
	for pair, count := range n.Direct {
		if pair[0] == number || pair[1] == number {
			links += count
		}
	}
	return links
}

func (n nvidiaHost) nvlinks() string {
	var text strings.Builder
	for number, g := range n.GPUs {
		fmt.Fprintf(&text, "GPU %d: %s (UUID: %s)\n", number, g.Product, g.UUID)
		if len(g.MIG) > 0 {
			text.WriteString("Nvlink queries are not supported for Devices in MIG mode\n")
			continue
		}
		if n.links(number) == 0 {
			text.WriteString("Device does not have or support Nvlink\n")
		}
		for link := range n.links(number) {
			fmt.Fprintf(&text, "\t Link %d: %s GB/s\n", link, n.LinkRate)
		}
	}
	return text.String()
}

// nvidiaUUID makes UUIDs that are plainly made up.
func nvidiaUUID(host byte, index int) string {
	return fmt.Sprintf("GPU-c0%02x0%03d-0000-4000-8000-00000000%04d", host, index, index)
}
