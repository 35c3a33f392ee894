package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

func init() {
	recordings["amd-mi300a-4"] = mi300aHost
	recordings["amd-mi308x-8"] = mi308xHost
	recordings["amd-mi308x-cpx-pod"] = mi308xPod
	recordings["amd-mi325x-8"] = mi325xHost
	recordings["amd-mi355x-8"] = mi355xHost
	recordings["amd-mi300x-vf-8"] = mi300xGuest
}

const mi300aReadme = `
A host with 4 AMD Instinct MI300A: processor, GPU and memory in one package each.

PCI addresses, ids, NUMA nodes, the number of compute units and that each reaches each other directly are those of a
topology that AMD publishes with RCCL (tools/topo_expl/models/topo_4p_942.xml); two links of 64 GB/s a direction between
any two are in published measurements. amdgpu reports no memory of the GPU's own, since it is the host's, and KFD 128 GiB
for each, as published output of rocminfo shows. The way to the processor is one inside the package (Linux, kfd_crat.c, from
memory). Unique ids, the hive's id, gpu_ids, VBIOS and the root ports are made up.`

func mi300aHost() *compose.Host {
	h := compose.New(mi300aReadme)
	h.Machine(server(4, processor{"AMD Instinct MI300A Accelerator", 24, 2}, 512, system{"5.14.0-503.el9.x86_64", "Red Hat Enterprise Linux 9.5 (Plow)"}, "HPE", "HPE CRAY EX255A"))
	host := amdHost{Driver: "6.12.12", Sockets: 4, CPUCores: 48, CPULink: inPackage, XGMIMBps: rateXGMI3, XGMI: fullMesh(2)}
	for i, bus := range []int{0x02, 0x42, 0x82, 0xc2} {
		port := fmt.Sprintf("pci0000:%02x/0000:%02x:01.1", bus-2, bus-2)
		h.PCI(compose.Bridge(port, "1022:14ab 1022:1453", gen5x16, i))
		gpu := instinct(fmt.Sprintf("%s/0000:%02x:00.0", port, bus), "1002:74a0 1002:74a0", "AMD Instinct MI300A", "113-MI3SRIOV-001")
		gpu.NUMA, gpu.Socket = i, i
		gpu.Compute, gpu.Memory = "SPX", "NPS1"
		gpu.UniqueID, gpu.Hive, gpu.Banks = 0xc030000ac0300000+uint64(i), 0xc030c030c030c030, 128<<30
		gpu.Card, gpu.Render = i, 128+i*mi300xMinors
		gpu.GFX, gpu.SIMDs, gpu.Dies, gpu.Width, gpu.Clock = 90402, 912, 6, 8192, 1300
		host.GPUs = append(host.GPUs, gpu)
	}
	addAMD(h, host)
	return h
}

const oamSources = `
Names and formats of amdgpu's files and of the KFD topology, its weights and its rates are what Linux writes, as in the
recording of the MI300X. PCI id and memory are the product's, less the 16 MiB that its siblings are known to keep; the rate
of an XGMI link is that of AMD's data sheet. Unique ids, the hive's id, gpu_ids, the VBIOS, the subsystem's id and the tree of
bridges are made up.`

// oam is a product that comes as eight modules on one board, all joined by one XGMI link each.
type oam struct {
	name, id           string
	memoryMiB, simds   int
	gfx, xgmiMBps, mhz int
	// mark tells the ids that are made up apart.
	mark int
	// mode is the partition mode of the cards, which makes so many partitions of each; empty means SPX. closed says that KFD shows
	// no card.
	mode       string
	partitions int
	closed     bool
}

func (o oam) compose(machine compose.Machine) *compose.Host {
	mode := cmp.Or(o.mode, "SPX")
	h := compose.New(fmt.Sprintf("A host with 8 %s in %s/NPS1 mode, all linked by XGMI, and two sockets.\n%s", o.name, mode, oamSources))
	h.Machine(machine)
	addBMC(h, "pci0000:60/0000:60:05.1", 0x61, 0)
	host := amdHost{
		Driver: "6.14.14", Sockets: 2, CPUCores: machine.CoresPerSocket * machine.ThreadsPerCore,
		CPULink: overPCIe5, XGMIMBps: o.xgmiMBps, XGMI: fullMesh(1), Closed: o.closed,
	}
	for i, first := range []int{0x01, 0x11, 0x41, 0x51, 0x81, 0x91, 0xc1, 0xd1} {
		steps := fmt.Sprintf("pci0000:%02x/0000:%02x:01.1/0000:%02x:00.0/0000:%02x:00.0/0000:%02x:00.0", first-1, first-1, first, first+1, first+2)
		gpu := instinct(steps, fmt.Sprintf("1002:%s 1002:%s", o.id, o.id), o.name+" OAM", "113-"+strings.ToUpper(o.id)+"0000-100")
		gpu.NUMA, gpu.Socket = i/4, i/4
		gpu.Compute, gpu.Memory, gpu.Partitions = mode, "NPS1", o.partitions
		if o.partitions > 1 {
			gpu.Spare = mi300xMinors - o.partitions
		}
		gpu.UniqueID, gpu.Hive, gpu.Bytes, gpu.UsedMiB = uint64(o.mark)<<32+uint64(i), uint64(o.mark)<<40, o.memoryMiB<<20, 285
		gpu.Card, gpu.Render = 1+i*mi300xMinors, 128+i*mi300xMinors
		gpu.GFX, gpu.SIMDs, gpu.Dies, gpu.Width, gpu.Clock = o.gfx, o.simds, 8, 8192, o.mhz
		host.GPUs = append(host.GPUs, gpu)
		addBridges(h, map[string]bool{}, gpu.Function, "1000:c030 1000:100b")
	}
	addAMD(h, host)
	return h
}

func turin(vendor, product string) compose.Machine {
	return server(2, epyc9575F, 3072, ubuntu("24.04.2", "6.8.0-60"), vendor, product)
}

func mi308xHost() *compose.Host {
	return oam{
		name: "AMD Instinct MI308X", id: "74a2", memoryMiB: 196592, simds: 320, gfx: 90402, xgmiMBps: rateXGMI3, mhz: 1300, mark: 0xc0308,
	}.compose(turin("Inspur", "NF5688G7"))
}

// mi308xPod is what an agent in a container sees that may open no render node. Linux makes eight nodes for each card, of which
// the mode uses four.
func mi308xPod() *compose.Host {
	return oam{
		name: "AMD Instinct MI308X", id: "74a2", memoryMiB: 196592, simds: 320, gfx: 90402, xgmiMBps: rateXGMI3, mhz: 1300, mark: 0xc0308,
		mode: "CPX", partitions: 4, closed: true,
	}.compose(turin("Inspur", "NF5688G7"))
}

func mi325xHost() *compose.Host {
	return oam{
		name: "AMD Instinct MI325X", id: "74a5", memoryMiB: 262128, simds: 1216, gfx: 90402, xgmiMBps: rateXGMI3, mhz: 1500, mark: 0xc0325,
	}.compose(turin("Supermicro", "AS -8126GS-TNMR"))
}

func mi355xHost() *compose.Host {
	return oam{
		name: "AMD Instinct MI355X", id: "75a3", memoryMiB: 294896, simds: 1024, gfx: 90500, xgmiMBps: 76800, mhz: 2000, mark: 0xc0355,
	}.compose(turin("Supermicro", "AS -4126GS-NMR-LCC"))
}

const mi300xGuestReadme = `
A virtual machine of Azure with 8 virtual functions of AMD Instinct MI300X, one of each card: size ND96isr_MI300X_v5.

PCI addresses, ids with the subsystem's, NUMA nodes, the processor's family and that each reaches each other by XGMI are
those of a topology that AMD publishes with RCCL (tools/topo_expl/models/topo_8p_942vm.xml); Azure's chassis tag is in its
documentation. Numbers of CPUs and memory are those of the size. A virtual function has no name of its product to read.
Unique ids, the hive's id, gpu_ids and the identifiers of the virtual bus are made up.`

func mi300xGuest() *compose.Host {
	h := compose.New(mi300xGuestReadme)
	h.Machine(azureMachine(1850, "6.8.0-1027-azure"))
	host := amdHost{Driver: "6.10.5", Sockets: 2, CPUCores: 48, CPULink: overPCIe5, XGMIMBps: rateXGMI3, XGMI: fullMesh(1)}
	for i := range 8 {
		domain := fmt.Sprintf("%04x", 0x11+0x10*i)
		place := fmt.Sprintf("LNXSYSTM:00/LNXSYBUS:00/ACPI0004:00/VMBUS:00/0000%s-0002-0000-3130-444532304235/pci%s:00/%s:00:00.0", domain, domain, domain)
		gpu := instinct(place, "1002:74b5 1002:74a1", "", "113-M3000100-102")
		gpu.NUMA, gpu.Socket = i/4, i/4
		gpu.Compute, gpu.Memory = "SPX", "NPS1"
		gpu.UniqueID, gpu.Hive, gpu.Bytes, gpu.UsedMiB = 0xc0b50000c0b50000+uint64(i), 0xc0b5c0b5c0b5c0b5, mi300xBytes, 283
		gpu.Card, gpu.Render = 1+i, 128+i
		gpu.GFX, gpu.SIMDs, gpu.Dies, gpu.Width, gpu.Clock = 90402, 1216, 8, 8192, 1300
		host.GPUs = append(host.GPUs, gpu)
	}
	addAMD(h, host)
	return h
}
