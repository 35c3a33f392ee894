package main

import (
	"encoding/json"

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
	addNVIDIAVersion(h, n.driver)
	document := report.Host{Library: "libnvidia-ml.so.1", DriverVersion: n.driver, CUDAVersion: n.cuda, Missing: n.missing}
	for i, g := range n.gpus {
		addNVIDIAFunction(h, g.Function, i, g.report.Name, g.report.UUID, g.report.VBIOS)
		g.report.PCI = g.Address()
		document.GPUs = append(document.GPUs, g.report)
	}
	printNVML(h, document)
}

// printNVML adds a document of rankwright-nvml.
func printNVML(h *compose.Host, document report.Host) {
	printed, err := json.Marshal(document)
	h.Keep(err)
	h.Command(string(printed)+"\n", "rankwright-nvml", "query")
}

// nvmlFacts are what NVML tells of a GPU that works.
func nvmlFacts(gpu report.GPU, index int, memory report.Memory) report.GPU {
	gpu.Minor, gpu.Memory = new(int32(index)), &memory
	gpu.ECC = &report.ECC{Enabled: true, VolatileUncorrectable: new(int64(0)), AggregateUncorrectable: new(int64(0)), SRAMThresholdExceeded: new(false)}
	gpu.RemappedRows = &report.RemappedRows{}
	gpu.RecoveryAction, gpu.PersistenceMode = new(int64(0)), new(true)
	gpu.TemperatureC, gpu.PowerMilliW, gpu.UtilizationPercent = new(int64(34)), new(int64(70120)), new(int64(0))
	return gpu
}

// nvmlLinks are active links, each with its other end.
func nvmlLinks(count int, version string, mbps int64, remote func(link int) (report.Remote, string)) []report.NVLink {
	var links []report.NVLink
	for i := range count {
		kind, address := remote(i)
		links = append(links, report.NVLink{Index: i, Active: true, Version: version, Remote: kind, RemotePCI: address, MBps: mbps})
	}
	return links
}
