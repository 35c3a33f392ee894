package main

import (
	"fmt"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

func init() {
	recordings["amd-ryzen-phoenix-laptop"] = phoenixHost
	recordings["amd-ryzen-strix-laptop"] = strixHost
	recordings["amd-strix-halo"] = strixHaloHost
}

const xdnaSources = `
PCI ids, class and revisions of the NPU, the driver and its files are those of drivers/accel/amdxdna of Linux and of
amd/xdna-driver, its place on the bus and the versions those that users published; the graphics and their files are those of
Documentation/gpu/amdgpu and the PCI id database. Subsystem ids are made up.`

// ryzenLaptop is a laptop with graphics and an NPU in its processor.
type ryzenLaptop struct {
	model, product   string
	cores, memoryGiB int
	// carveOutMiB and gttMiB are the memories of the graphics: what the firmware sets aside, and what can be had of the host's.
	carveOutMiB, gttMiB       int
	bus                       int
	graphicsIDs, npuIDs       string
	npuRevision, npuName      string
	graphicsRevision, npuFirm string
}

func (l ryzenLaptop) host(title string) *compose.Host {
	h := compose.New(title + "\n" + xdnaSources)
	h.Machine(server(1, processor{l.model, l.cores, 2}, l.memoryGiB, system{"6.17.0-8-generic", "Ubuntu 25.10"}, "LENOVO", l.product))
	h.Device("/dev/kfd")
	port := "pci0000:00/0000:00:08.1"
	graphics := compose.Function{
		Place: fmt.Sprintf("%s/0000:%02x:00.0", port, l.bus), IDs: l.graphicsIDs, Class: "030000", Revision: l.graphicsRevision,
		Driver: "amdgpu", NUMA: -1, Link: "16.0 GT/s PCIe x16",
		Extra: map[string]string{
			"mem_info_vram_total": fmt.Sprint(l.carveOutMiB << 20), "mem_info_vram_used": fmt.Sprint(91 << 20),
			"mem_info_gtt_total": fmt.Sprint(l.gttMiB << 20), "mem_info_gtt_used": fmt.Sprint(40 << 20), "gpu_busy_percent": "0",
		},
	}
	npu := compose.Function{
		Place: fmt.Sprintf("%s/0000:%02x:00.1", port2, l.bus+1), IDs: l.npuIDs, Class: "118000", Revision: l.npuRevision,
		Driver: "amdxdna", NUMA: -1, Link: "16.0 GT/s PCIe x16",
		Extra: map[string]string{"vbnv": l.npuName, "device_type": "0", "fw_version": l.npuFirm},
	}
	h.PCI(compose.Bridge(port, "1022:14eb 1022:0000", "16.0 GT/s PCIe x16", -1), compose.Bridge(port2, "1022:14eb 1022:0000", "16.0 GT/s PCIe x16", -1),
		graphics, npu)
	addDRM(h, graphics.Folder(), "card1", "renderD128")
	addAccel(h, npu.Folder(), 0)
	return h
}

const port2 = "pci0000:00/0000:00:08.2"

func phoenixHost() *compose.Host {
	return ryzenLaptop{
		model: "AMD Ryzen 7 7840U w/ Radeon  780M Graphics", product: "21K5CTO1WW", cores: 8, memoryGiB: 32, bus: 0xc3,
		carveOutMiB: 512, gttMiB: 15679,
		graphicsIDs: "1002:15bf 17aa:50d9", graphicsRevision: "dd", npuIDs: "1022:1502 17aa:50d9", npuRevision: "00",
		npuName: "RyzenAI-npu1", npuFirm: "1.5.5.391",
	}.host("A laptop with an AMD Ryzen 7 7840U (Phoenix): graphics and an NPU in the processor.")
}

func strixHost() *compose.Host {
	return ryzenLaptop{
		model: "AMD Ryzen AI 9 HX 370 w/ Radeon 890M", product: "21M1CTO1WW", cores: 12, memoryGiB: 64, bus: 0xc4,
		carveOutMiB: 512, gttMiB: 31744,
		graphicsIDs: "1002:150e 17aa:50ea", graphicsRevision: "c1", npuIDs: "1022:17f0 17aa:50ea", npuRevision: "10",
		npuName: "RyzenAI-npu4", npuFirm: "1.0.0.63",
	}.host("A laptop with an AMD Ryzen AI 9 HX 370 (Strix Point): graphics and an NPU in the processor.")
}

// strixHaloHost has most of its memory set aside for the graphics, as people do who run models on it.
func strixHaloHost() *compose.Host {
	return ryzenLaptop{
		model: "AMD RYZEN AI MAX+ 395 w/ Radeon 8060S", product: "FRANMFCP06", cores: 16, memoryGiB: 32, bus: 0xc1,
		carveOutMiB: 98304, gttMiB: 16384,
		graphicsIDs: "1002:1586 f111:000a", graphicsRevision: "c1", npuIDs: "1022:17f0 f111:000a", npuRevision: "11",
		npuName: "RyzenAI-npu5", npuFirm: "1.0.0.166",
	}.host("A desktop with an AMD Ryzen AI Max+ 395 (Strix Halo) and 128 GiB, of which the firmware sets 96 aside for the graphics.")
}
