package main

import (
	"encoding/json"
	"fmt"

	"github.com/rankwright/rankwright/internal/nvml/report"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

func init() {
	recordings["nvidia-nvml-h100-8"] = nvmlH100Host
	recordings["nvidia-nvml-h100-mig"] = nvmlMIGHost
	recordings["nvidia-nvml-a6000-pair"] = nvmlA6000Host
	recordings["nvidia-nvml-l40s-lost"] = nvmlLostHost
}

const nvmlSources = `
The document is what rankwright-nvml prints for such a host: no NVML of such a host was captured. PCI ids, product names,
memory, link rates and the sizes of MIG devices are those of published captures of nvidia-smi on the products; the order
of MIG instances, addresses, UUIDs and the tree of bridges are made up after the published layout of the machine.`

// nvmlHost is a host whose GPUs are reported by NVML.
type nvmlHost struct {
	driver, cuda string
	// missing are functions that its library lacks.
	missing []string
	gpus    []nvmlGPU
}

// nvmlGPU is a GPU on the bus and in the document.
type nvmlGPU struct {
	compose.Function
	report report.GPU
}

// addNVML adds the GPUs to the bus, the driver's files, and the document.
func addNVML(h *compose.Host, n nvmlHost) {
	h.File("/proc/driver/nvidia/version", fmt.Sprintf(
		"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  %s  Release Build\nGCC version:  gcc version 13.3.0", n.driver))
	document := report.Host{Library: "libnvidia-ml.so.1", DriverVersion: n.driver, CUDAVersion: n.cuda, Missing: n.missing}
	for i, g := range n.gpus {
		h.PCI(g.Function)
		h.Device(fmt.Sprintf("/dev/nvidia%d", i))
		h.File("/proc/driver/nvidia/gpus/"+g.Address()+"/information", fmt.Sprintf(
			"Model: \t\t %s\nIRQ:   \t\t %d\nGPU UUID: \t %s\nVideo BIOS: \t %s\nBus Type: \t PCIe\nBus Location: \t %s\nDevice Minor: \t %d\nGPU Excluded:\t No",
			g.report.Name, 200+i, g.report.UUID, g.report.VBIOS, g.Address(), i))
		g.report.PCI = g.Address()
		document.GPUs = append(document.GPUs, g.report)
	}
	printed, err := json.Marshal(document)
	h.Keep(err)
	h.Command(string(printed)+"\n", "rankwright-nvml", "query")
}

// nvmlFacts are what NVML tells of a GPU that works.
func nvmlFacts(gpu report.GPU, index int, memory report.Memory) report.GPU {
	gpu.Minor, gpu.Memory = pointer(int32(index)), &memory
	gpu.ECC = &report.ECC{Enabled: true, VolatileUncorrectable: pointer(int64(0)), AggregateUncorrectable: pointer(int64(0)), SRAMThresholdExceeded: pointer(false)}
	gpu.RemappedRows = &report.RemappedRows{}
	gpu.RecoveryAction, gpu.PersistenceMode = pointer(int64(0)), pointer(true)
	gpu.TemperatureC, gpu.PowerMilliW, gpu.UtilizationPercent = pointer(int64(34)), pointer(int64(70120)), pointer(int64(0))
	return gpu
}

func pointer[T any](value T) *T { return &value }

// nvmlLinks are active links, each with its other end.
func nvmlLinks(count int, version string, mbps int64, remote func(link int) (report.Remote, string)) []report.NVLink {
	var links []report.NVLink
	for i := range count {
		kind, address := remote(i)
		links = append(links, report.NVLink{Index: i, Active: true, Version: version, Remote: kind, RemotePCI: address, MBps: mbps})
	}
	return links
}
