package main

import (
	"fmt"

	"github.com/rankwright/rankwright/internal/nvml/report"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

var dgxH100 = server(2, xeon8480C, 2048, ubuntu("24.04.2", "6.8.0-60"), "NVIDIA", "DGXH100")

// h100Function is a GPU behind a port of its own host bridge.
func h100Function(bus, numa int) compose.Function {
	return h100SXM.at(0, 0, fmt.Sprintf("pci0000:%02x/0000:%02x:01.0/0000:%02x:00.0", bus-1, bus-1, bus), numa).Function
}

var h100 = report.GPU{Name: "NVIDIA H100 80GB HBM3", VBIOS: "96.00.A5.00.01", Architecture: "Hopper", ComputeCapability: "9.0"}

// nvmlH100Host has 8 GPUs on 4 NVSwitches, one of them with work that the cluster does not know.
func nvmlH100Host() *compose.Host {
	h := compose.New("A host with 8 NVIDIA H100 80GB HBM3 on 4 NVSwitches, reported by NVML; a process outside the cluster uses 21 GiB of the third.\n" + nvmlSources)
	h.Machine(dgxH100)
	addH100Switches(h)
	host := nvmlHost{driver: "580.105.08", cuda: "13.0"}
	for i, bus := range []int{0x1b, 0x43, 0x52, 0x61, 0x9d, 0xc3, 0xd1, 0xdf} {
		function := h100Function(bus, i/4)
		addBridges(h, map[string]bool{}, function, "8086:352a 8086:0000")
		memory := report.Memory{TotalMiB: 81559, UsedMiB: 4, ReservedMiB: new(int64(480))}
		if i == 2 {
			memory.UsedMiB = 21508
		}
		gpu := nvmlFacts(h100, i, memory)
		gpu.UUID, gpu.MIG = nvidiaUUID(0x50, i), &report.MIG{}
		gpu.Fabric = &report.Fabric{State: report.FabricCompleted, ClusterUUID: "00000000-0000-0000-0000-000000000000", Clique: new(int64(0))}
		gpu.NVLinks = nvmlLinks(18, "4.0", 26562, func(link int) (report.Remote, string) {
			return report.RemoteSwitch, fmt.Sprintf("0000:%02x:00.0", 5+link%4)
		})
		host.gpus = append(host.gpus, nvmlGPU{function, gpu})
	}
	addNVML(h, host)
	return h
}

// nvmlMIGHost has two GPUs: one cut into MIG devices, one whole.
func nvmlMIGHost() *compose.Host {
	h := compose.New("A host with 2 NVIDIA H100 80GB HBM3, reported by NVML: one is cut into 3g.40gb, 2g.20gb and two 1g.10gb.\n" + nvmlSources)
	h.Machine(dgxH100)
	host := nvmlHost{driver: "590.48.01", cuda: "13.1"}
	for i, bus := range []int{0x1b, 0x9d} {
		function := h100Function(bus, i)
		addBridges(h, map[string]bool{}, function, "8086:352a 8086:0000")
		gpu := nvmlFacts(h100, i, report.Memory{TotalMiB: 81559, UsedMiB: 4, ReservedMiB: new(int64(480))})
		gpu.UUID, gpu.MIG = nvidiaUUID(0x51, i), &report.MIG{}
		host.gpus = append(host.gpus, nvmlGPU{function, gpu})
	}
	cut := &host.gpus[0].report
	cut.UtilizationPercent, cut.MIG = nil, &report.MIG{Enabled: true, Pending: true}
	for i, device := range []struct {
		instance, capability int
		mib, used            int64
		profile              string
	}{
		{2, 21, 40448, 26, "3g.40gb"},
		{3, 30, 20096, 9216, "2g.20gb"},
		{9, 84, 9984, 13, "1g.10gb"},
		{10, 93, 9984, 13, "1g.10gb"},
	} {
		cut.MIG.Devices = append(cut.MIG.Devices, report.MIGDevice{
			GPUInstance: int32(device.instance), UUID: fmt.Sprintf("MIG-c051%04d-0000-4000-8000-000000000000", i), Profile: device.profile,
			Memory: &report.Memory{TotalMiB: device.mib, UsedMiB: device.used, ReservedMiB: new(int64(0))},
		})
		folder := fmt.Sprintf("/proc/driver/nvidia/capabilities/gpu0/mig/gi%d", device.instance)
		for j, name := range []string{folder + "/access", folder + "/ci0/access"} {
			h.File(name, fmt.Sprintf("DeviceFileMinor: %d\nDeviceFileMode: 256\nDeviceFileModify: 1", device.capability+j))
			h.Device(fmt.Sprintf("/dev/nvidia-caps/nvidia-cap%d", device.capability+j))
		}
	}
	addNVML(h, host)
	return h
}

// nvmlA6000Host has two cards with a bridge between them, whose library is too old to tell a recovery action.
func nvmlA6000Host() *compose.Host {
	h := compose.New("A workstation with 2 NVIDIA RTX A6000 and an NVLink bridge between them, reported by an NVML of driver 535.\n" + nvmlSources)
	h.Machine(server(1, processor{"AMD Ryzen Threadripper PRO 5975WX 32-Cores", 32, 2}, 256, ubuntu("22.04.4", "5.15.0-119"), "LENOVO", "30E0CTO1WW"))
	host := nvmlHost{driver: "535.183.01", cuda: "12.2"}
	for i, bus := range []int{0x41, 0x61} {
		function := compose.Function{
			Place: rootPort(bus), IDs: "10de:2230 10de:1459",
			Class: "030000", Revision: "a1", Driver: "nvidia", Link: "16.0 GT/s PCIe x16",
		}
		addBridges(h, map[string]bool{}, function, "1022:1483 1022:1453")
		gpu := nvmlFacts(report.GPU{Name: "NVIDIA RTX A6000", VBIOS: "94.02.5C.00.02", Architecture: "Ampere", ComputeCapability: "8.6", UUID: nvidiaUUID(0x52, i)},
			i, report.Memory{TotalMiB: 49140, UsedMiB: 350, ReservedMiB: new(int64(455))})
		gpu.RecoveryAction, gpu.ECC = nil, &report.ECC{}
		peer := fmt.Sprintf("0000:%02x:00.0", []int{0x61, 0x41}[i])
		gpu.NVLinks = nvmlLinks(4, "3.1", 14062, func(int) (report.Remote, string) { return report.RemoteGPU, peer })
		host.gpus = append(host.gpus, nvmlGPU{function, gpu})
	}
	addNVML(h, host)
	return h
}

// nvmlLostHost has four cards of which one has fallen off the bus.
func nvmlLostHost() *compose.Host {
	h := compose.New("A host with 4 NVIDIA L40S, reported by NVML, of which the third is lost.\n" + nvmlSources)
	h.Machine(server(2, epyc9354, 768, ubuntu("24.04.2", "6.8.0-60"), "Supermicro", "AS -4125GS-TNRT"))
	host := nvmlHost{driver: "580.105.08", cuda: "13.0"}
	for i, bus := range []int{0x01, 0x41, 0x81, 0xc1} {
		function := l40s.at(0x53, i, rootPort(bus), i/2).Function
		addBridges(h, map[string]bool{}, function, "1022:14ab 1022:1453")
		gpu := nvmlFacts(report.GPU{Name: "NVIDIA L40S", VBIOS: "95.02.66.00.02", Architecture: "Ada", ComputeCapability: "8.9", UUID: nvidiaUUID(0x53, i)},
			i, report.Memory{TotalMiB: 46068, UsedMiB: 1, ReservedMiB: new(int64(609))})
		host.gpus = append(host.gpus, nvmlGPU{function, gpu})
	}
	addNVML(h, withLost(host, 2))
	return h
}

// withLost has NVML tell nothing of a GPU but that it is lost. The driver's files still have what it knew.
func withLost(host nvmlHost, index int) nvmlHost {
	known := host.gpus[index].report
	host.gpus[index].report = report.GPU{Name: known.Name, UUID: known.UUID, VBIOS: known.VBIOS, Faults: []report.Fault{
		{Call: "nvmlDeviceGetMemoryInfo_v2", Code: report.CodeGPULost, Text: "GPU is lost"},
	}}
	return host
}
