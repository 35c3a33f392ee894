package main

import (
	"fmt"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

func init() {
	recordings["amd-mi300x-8"] = mi300xHost
	recordings["amd-mi300x-cpx-nps4"] = mi300xCPXHost
}

const mi300xSources = `
PCI addresses, unique ids, hive id and the numbers of the KFD nodes follow a published capture of the product's KFD
topology in CPX mode (ROCm/k8s-device-plugin, testdata/topo-mi300-cpx, Apache-2.0), each card's eight partitions put
together; weights and rates of the XGMI links are what Linux writes (drivers/gpu/drm/amd/amdkfd/kfd_crat.c,
drivers/gpu/drm/amd/amdgpu/amdgpu_xgmi.c); names and formats of amdgpu's files are those of Documentation/gpu/amdgpu. The
memory is 196592 MiB as reported. KFD's gpu_ids and the root ports are made up.`

const mi300xReadme = `
A host with 8 AMD Instinct MI300X in SPX/NPS1 mode, all linked by XGMI, and two sockets.
` + mi300xSources

// mi300xCard is what differs between the cards.
type mi300xCard struct {
	bus      int
	uniqueID uint64
}

var mi300xCards = []mi300xCard{
	{0x05, 16404946649897475633},
	{0x27, 2472748907779728154},
	{0x47, 15565237874008425757},
	{0x65, 12035684874187068538},
	{0x85, 15304831566906821053},
	{0xa7, 13644590235195043050},
	{0xc7, 13326531576914550249},
	{0xe5, 15931900197903628278},
}

const (
	mi300xHive  = 15188982192727901047
	mi300xBytes = 196592 << 20
	// Each card takes eight render minors, so that its partitions find theirs.
	mi300xMinors = 8
)

// mi300xHost has 4 cards to a socket, each on a host bridge of its own, and a BMC's display that has card0.
func mi300xHost() *compose.Host {
	h := composeMI300X(mi300xReadme+mi300xNetwork, "SPX", "NPS1", 1)
	addMI300XNetwork(h)
	return h
}

const mi300xCPXReadme = `
A host with 8 AMD Instinct MI300X in CPX/NPS4 mode, each cut into 8 partitions of one compute die, and two sockets.
` + mi300xSources + `
Unlike in the capture no partition is missing, their numbers are in bits 28 to 31 of the location (Linux 6.11 and newer),
and each has its part of the card's memory as a memory bank, as KFD divides it.`

func mi300xCPXHost() *compose.Host { return composeMI300X(mi300xCPXReadme, "CPX", "NPS4", 8) }

func composeMI300X(readme, mode, memoryMode string, partitions int) *compose.Host {
	h := compose.New(readme)
	h.Machine(server(2, processor{"AMD EPYC 9474F 48-Core Processor", 48, 2}, 2304, ubuntu("22.04.5", "6.8.0-60"), "Supermicro", "AS -8125GS-TNMR2"))
	addBMC(h, "pci0000:e0/0000:e0:05.1", 0xea, 1)
	host := amdHost{
		Driver: "6.12.12", Sockets: 2, CPUCores: 96, CPULink: overPCIe5, XGMIMBps: rateXGMI3, XGMI: fullMesh(1),
	}
	for i, card := range mi300xCards {
		root := card.bus &^ 0x1f
		port := fmt.Sprintf("pci0000:%02x/0000:%02x:01.1", root, root)
		h.PCI(compose.Bridge(port, "1022:14ab 1022:1453", gen5x16, i/4))
		gpu := instinct(fmt.Sprintf("%s/0000:%02x:00.0", port, card.bus), "1002:74a1 1002:74a1", "AMD Instinct MI300X OAM", "113-M3000100-102")
		gpu.NUMA, gpu.Socket = i/4, i/4
		gpu.Compute, gpu.Memory, gpu.Partitions = mode, memoryMode, partitions
		gpu.UniqueID, gpu.Hive, gpu.Bytes, gpu.UsedMiB = card.uniqueID, mi300xHive, mi300xBytes, 283
		gpu.Card, gpu.Render = 1+i*mi300xMinors, 128+i*mi300xMinors
		gpu.GFX, gpu.SIMDs, gpu.Dies, gpu.Width, gpu.Clock = 90402, 1216, 8, 8192, 1300
		host.GPUs = append(host.GPUs, gpu)
	}
	addAMD(h, host)
	return h
}

// instinct is an accelerator of AMD's at a place on PCI Express 5.
func instinct(place, ids, product, vbios string) amdGPU {
	return amdGPU{
		Function: compose.Function{Place: place, IDs: ids, Class: "120000", Revision: "00", Driver: "amdgpu", Link: gen5x16},
		Product:  product, VBIOS: vbios,
	}
}

// addBMC adds the display of a board's management controller, which has card0.
func addBMC(h *compose.Host, port string, bus, numa int) {
	bmc := compose.Function{
		Place: fmt.Sprintf("%s/0000:%02x:00.0", port, bus), IDs: "1a03:2000 1a03:2000", Class: "030000", Revision: "52", Driver: "ast", NUMA: numa,
	}
	h.PCI(compose.Bridge(port, "1022:14aa 1022:1453", "", numa), bmc)
	addDRM(h, bmc.Folder(), "card0")
}
