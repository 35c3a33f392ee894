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
}

// nvidiaGPU is a GPU as nvidia-smi reports it.
type nvidiaGPU struct {
	compose.Function
	Product, Architecture, UUID, VBIOS string
	Index, MemoryMiB, ReservedMiB      int
	Fabric                             bool
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

// FreeMiB is what neither the driver nor a process holds.
func (g nvidiaGPU) FreeMiB() int { return g.MemoryMiB - g.ReservedMiB }

// addNVIDIA adds the GPUs to the bus, the driver's files, and what nvidia-smi prints of them.
func addNVIDIA(h *compose.Host, n nvidiaHost) error {
	h.File("/proc/driver/nvidia/version", fmt.Sprintf(
		"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  %s  Release Build\nGCC version:  gcc version 13.3.0", n.Driver))
	for _, g := range n.GPUs {
		h.PCI(g.Function)
		h.Device(fmt.Sprintf("/dev/nvidia%d", g.Index))
		h.File("/proc/driver/nvidia/gpus/"+g.Address()+"/information", fmt.Sprintf(
			"Model: \t\t %s\nIRQ:   \t\t %d\nGPU UUID: \t %s\nVideo BIOS: \t %s\nBus Type: \t PCIe\nBus Location: \t %s\nDevice Minor: \t %d\nGPU Excluded:\t No",
			g.Product, 200+g.Index, g.UUID, g.VBIOS, g.Address(), g.Index))
	}
	var report strings.Builder
	if err := nvidiaSMI.Execute(&report, n); err != nil {
		return err
	}
	h.Command(report.String(), "nvidia-smi", "-q", "-x")
	h.Command(n.list(), "nvidia-smi", "-L")
	h.Command(n.topology(), "nvidia-smi", "topo", "-m")
	h.Command(n.nvlinks(), "nvidia-smi", "nvlink", "-s")
	return nil
}

func (n nvidiaHost) list() string {
	var text strings.Builder
	for _, g := range n.GPUs {
		fmt.Fprintf(&text, "GPU %d: %s (UUID: %s)\n", g.Index, g.Product, g.UUID)
	}
	return text.String()
}

// topology is the matrix of `nvidia-smi topo -m`, with its terminal escapes.
func (n nvidiaHost) topology() string {
	var text strings.Builder
	text.WriteString("\t\x1b[4m")
	for _, g := range n.GPUs {
		fmt.Fprintf(&text, "GPU%d\t", g.Index)
	}
	text.WriteString("CPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n")
	for _, a := range n.GPUs {
		fmt.Fprintf(&text, "GPU%d\t", a.Index)
		for _, b := range n.GPUs {
			text.WriteString(n.relation(a, b) + "\t")
		}
		fmt.Fprintf(&text, "\t%d\t\tN/A\n", a.NUMA)
	}
	text.WriteString("\nLegend:\n\n  X    = Self\n  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)\n" +
		"  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node\n" +
		"  NV#  = Connection traversing a bonded set of # NVLinks\n")
	return text.String()
}

func (n nvidiaHost) relation(a, b nvidiaGPU) string {
	switch {
	case a.Index == b.Index:
		return " X "
	case n.Links > 0:
		return fmt.Sprintf("NV%d", n.Links)
	case a.NUMA == b.NUMA:
		return "NODE"
	default:
		return "SYS"
	}
}

func (n nvidiaHost) nvlinks() string {
	var text strings.Builder
	for _, g := range n.GPUs {
		fmt.Fprintf(&text, "GPU %d: %s (UUID: %s)\n", g.Index, g.Product, g.UUID)
		if n.Links == 0 {
			text.WriteString("Device does not have or support Nvlink\n")
		}
		for link := range n.Links {
			fmt.Fprintf(&text, "\t Link %d: %s GB/s\n", link, n.LinkRate)
		}
	}
	return text.String()
}

// nvidiaUUID makes UUIDs that are plainly made up.
func nvidiaUUID(host byte, index int) string {
	return fmt.Sprintf("GPU-c0%02x0%03d-0000-4000-8000-00000000%04d", host, index, index)
}
