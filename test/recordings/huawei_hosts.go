package main

import (
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

func init() {
	recordings["huawei-910b2-8"] = func() *compose.Host { return ascend910BHost("910B2", true) }
	recordings["huawei-910b3-8-no-tool"] = func() *compose.Host { return ascend910BHost("910B3", false) }
	recordings["huawei-910b4-omitted"] = ascendOmittedHost
	recordings["huawei-910c-16"] = ascend910CHost
	recordings["huawei-310p3-4"] = ascend310PHost
	recordings["huawei-310p3-duo-2"] = ascendDuoHost
}

const ascendSources = `
PCI and subsystem ids and the driver's files are those of Huawei's driver (devdrv_pci.h, devdrv_sysfs.c). PCI addresses,
names, memory and the layout of npu-smi's tables are those that users of vllm-ascend, sglang and lmdeploy print in public
bug reports, the matrix and its legend too. Power, temperatures, bridges and the boards' firmware names are made up.`

// addKunpeng adds the host of an Atlas 800T A2 or A3: four Kunpeng 920 of 48 cores, two NUMA nodes each.
func addKunpeng(h *compose.Host, product string) {
	h.ArmMachine(compose.Machine{
		Sockets: 4, CoresPerSocket: 48, NodesPerSocket: 2, MemoryGiB: 1536,
		Kernel: "5.10.0-60.18.0.50.oe2203.aarch64", OS: "openEuler 22.03 LTS", DMI: map[string]string{"sys_vendor": "Huawei", "product_name": product},
	}, compose.MIDR{Implementer: "0x48", Part: "0xd01"})
}

// ascendNPU is a row pair of npu-smi's table with what the kernel shows.
type ascendNPU struct {
	npu, chip, number int
	bus               string // with device and function: `c1:00.0`
	numa              int
	used, total       int
	power             string
	celsius           int
}

// ascend910BHost has 8 NPUs in a full mesh, two at every second NUMA node.
func ascend910BHost(name string, tool bool) *compose.Host {
	h := compose.New("A host with 8 Huawei Ascend " + name + " in a full mesh of HCCS.\n" + ascendSources)
	addKunpeng(h, "Atlas 800T A2")
	var npus []ascendNPU
	numa := []int{6, 6, 4, 4, 0, 0, 2, 2}
	for i, bus := range []string{"c1", "c2", "81", "82", "01", "02", "41", "42"} {
		npus = append(npus, ascendNPU{
			npu: i, number: i, bus: bus + ":00.0", numa: numa[i], used: 3300 + i, total: 65536, power: fmt.Sprintf("%.1f", 92.1+float64(i)), celsius: 36 + i,
		})
	}
	npus[3].used = 33126
	addAscend(h, "d802", "0100", npus)
	if tool {
		addNPUSMI(h, "24.1.rc1", name, npus, hbmTable)
		h.Command(topologyOf("NPU", npus, func(int, int) string { return "HCCS" }), "npu-smi", "info", "-t", "topo")
	}
	return h
}

// ascendOmittedHost has 3 NPUs, of which npu-smi lists 2.
func ascendOmittedHost() *compose.Host {
	h := compose.New("A host with 3 Huawei Ascend 910B4, one of which npu-smi does not list.\n" + ascendSources)
	addKunpeng(h, "Atlas 800T A2")
	npus := []ascendNPU{
		{npu: 0, number: 0, bus: "c1:00.0", numa: 6, used: 2843, total: 32768, power: "93.7", celsius: 52},
		{npu: 3, number: 3, bus: "82:00.0", numa: 4, used: 2842, total: 32768, power: "94.3", celsius: 51},
		{npu: 4, number: 4, bus: "01:00.0"},
	}
	addAscend(h, "d802", "0100", npus)
	addNPUSMI(h, "24.1.rc3", "910B4", npus[:2], hbmTable)
	h.Command(topologyOf("NPU", npus[:2], func(int, int) string { return "SYS" }), "npu-smi", "info", "-t", "topo")
	return h
}

// ascend910CHost has 8 packages of two dies, each die a function that no NUMA node is known for, behind HCCS switches.
func ascend910CHost() *compose.Host {
	h := compose.New("A node of Huawei Ascend 910C (Atlas 800T A3): 8 packages with two dies each, behind HCCS switches.\n" + ascendSources)
	addKunpeng(h, "Atlas 800T A3")
	var npus []ascendNPU
	for i, bus := range []int{0x9d, 0x99, 0x95, 0x91, 0x3d, 0x39, 0x35, 0x31} {
		for die := range 2 {
			power := fmt.Sprintf("%.1f", 160.5+float64(i))
			if die == 1 {
				power = "-"
			}
			npus = append(npus, ascendNPU{
				npu: i, chip: die, number: 2*i + die, bus: fmt.Sprintf("%02x:00.0", bus+2*die), numa: -1, used: 3151 - 260*die, total: 65536, power: power, celsius: 40 + i,
			})
		}
	}
	addAscend(h, "d803", "0100", npus)
	addNPUSMI(h, "25.3.rc1", "Ascend910", npus, physicalTable)
	h.Command(topologyOf("Phy-ID", npus, func(a, b int) string {
		if a/2 == b/2 {
			return "SIO"
		}
		return "HCCS_SW"
	}), "npu-smi", "info", "-t", "topo")
	return h
}

// ascend310PHost has 4 inference cards in a PCIe server.
func ascend310PHost() *compose.Host {
	h := compose.New("A host with 4 Huawei Ascend 310P3 (Atlas 300I Pro), one of them with a warning.\n" + ascendSources)
	h.Machine(ascendPCIeServer)
	npus := []ascendNPU{
		{npu: 0, number: 0, bus: "01:00.0", used: 1844, total: 21527, power: "NA", celsius: 56},
		{npu: 32, number: 1, bus: "02:00.0", used: 1846, total: 21527, power: "NA", celsius: 58},
		{npu: 32768, number: 2, bus: "81:00.0", numa: 1, used: 19562, total: 21527, power: "NA", celsius: 46},
		{npu: 32800, number: 3, bus: "82:00.0", numa: 1, used: 1845, total: 21527, power: "NA", celsius: 48},
	}
	addAscend(h, "d500", "0100", npus)
	addNPUSMI(h, "25.2.1", "310P3", npus, noHBMTable, 3)
	return h
}

// ascendDuoHost has 2 cards with two chips behind one function each.
func ascendDuoHost() *compose.Host {
	h := compose.New("A host with 2 Huawei Atlas 300I Duo: two Ascend 310P3 behind one PCI function each.\n" + ascendSources)
	h.Machine(ascendPCIeServer)
	npus := []ascendNPU{
		{npu: 1, chip: 0, number: 0, bus: "01:00.0", used: 1448, total: 44278, power: "NA", celsius: 49},
		{npu: 1, chip: 1, number: 1, bus: "01:00.0", used: 1511, total: 43693, power: "NA", celsius: 45},
		{npu: 2, chip: 0, number: 2, bus: "81:00.0", numa: 1, used: 1384, total: 44278, power: "NA", celsius: 46},
		{npu: 2, chip: 1, number: 3, bus: "81:00.0", numa: 1, used: 1529, total: 43693, power: "NA", celsius: 46},
	}
	addAscend(h, "d500", "0110", npus)
	addNPUSMI(h, "25.5.1", "310P3", npus, noHBMTable)
	return h
}

var ascendPCIeServer = server(2, processor{"Intel(R) Xeon(R) Gold 6330 CPU @ 2.00GHz", 28, 2}, 512, ubuntu("22.04.5", "5.15.0-119"), "Huawei", "2288H V6")

// addAscend adds the functions of the NPUs, each once, and all nodes.
func addAscend(h *compose.Host, device, subsystem string, npus []ascendNPU) {
	for _, name := range []string{"davinci_manager", "devmm_svm", "hisi_hdc"} {
		h.Device("/dev/" + name)
	}
	for i, npu := range npus {
		h.Device(fmt.Sprint("/dev/davinci", npu.number))
		if i > 0 && npus[i-1].bus == npu.bus {
			continue
		}
		var bus int
		_, err := fmt.Sscanf(npu.bus, "%x:", &bus)
		h.Keep(err)
		port := fmt.Sprintf("pci0000:%02x/0000:%02x:%02x.0", bus&^0x1f, bus&^0x1f, bus&0x1f)
		h.PCI(compose.Bridge(port, "19e5:a120 19e5:371e", "32.0 GT/s PCIe x16", npu.numa), compose.Function{
			Place: port + "/0000:" + npu.bus, IDs: "19e5:" + device + " 19e5:" + subsystem, Class: "120000", Revision: "20",
			Driver: "devdrv_device_driver", NUMA: npu.numa, Link: "32.0 GT/s PCIe x16",
			Extra: map[string]string{"dev_id": fmt.Sprint(npu.number), "chip_id": "0"},
		})
	}
}

// npuTable is how npu-smi lays a table out: formats of the two rows of a chip, and how far apart its columns are.
type npuTable struct {
	head   string
	second func(npu ascendNPU) string
	wide   bool
}

var (
	hbmTable = npuTable{"Chip                      ", func(n ascendNPU) string {
		return fmt.Sprintf("%-26d| 0000:%-9s| 0           0    / 0          %-5d/ %-14d", n.chip, strings.ToUpper(n.bus), n.used, n.total)
	}, false}
	physicalTable = npuTable{"Chip  Phy-ID              ", func(n ascendNPU) string {
		return fmt.Sprintf("%-6d%-20d| 0000:%-9s| 0           0    / 0          %-5d/ %-14d", n.chip, n.number, strings.ToUpper(n.bus), n.used, n.total)
	}, false}
	noHBMTable = npuTable{"Chip    Device                ", func(n ascendNPU) string {
		return fmt.Sprintf("%-8d%-22d| 0000:%-11s| 0            %-5d/ %-33d", n.chip, n.number, strings.ToUpper(n.bus), n.used, n.total)
	}, true}
)

// addNPUSMI adds `npu-smi info`; the NPUs whose numbers in the list are given have a warning.
func addNPUSMI(h *compose.Host, version, name string, npus []ascendNPU, table npuTable, warned ...int) {
	widths := []int{27, 15, 52}
	if table.wide {
		widths = []int{31, 17, 54}
	}
	rule := func(fill string) string {
		line := "+"
		for _, width := range widths {
			line += strings.Repeat(fill, width) + "+"
		}
		return line + "\n"
	}
	total := widths[0] + widths[1] + widths[2] + 2
	var b strings.Builder
	fmt.Fprintf(&b, "+%s+\n| npu-smi %-*s|\n%s", strings.Repeat("-", total), total-9, version+"                 Version: "+version, rule("-"))
	fmt.Fprintf(&b, "| %-*s| %-*s| %-*s|\n", widths[0]-1, "NPU   Name", widths[1]-1, "Health", widths[2]-1, "Power(W)    Temp(C)           Hugepages-Usage(page)")
	fmt.Fprintf(&b, "| %s| %-*s| %-*s|\n%s", table.head, widths[1]-1, "Bus-Id", widths[2]-1, "AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)", rule("="))
	for i, npu := range npus {
		health := "OK"
		for _, w := range warned {
			if w == i {
				health = "Warning"
			}
		}
		column := (widths[0] - 1) / 4
		fmt.Fprintf(&b, "| %-*d%-*s| %-*s| %-12s%-*s|\n", column, npu.npu, widths[0]-1-column, name, widths[1]-1, health, npu.power, widths[2]-13, fmt.Sprintf("%-18d0    / 0", npu.celsius))
		fmt.Fprintf(&b, "| %s|\n%s", table.second(npu), rule("="))
	}
	fmt.Fprintf(&b, "%s| %-*s|\n", rule("-"), total-1, "NPU     Chip              | Process id    | Process name             | Process memory(MB)")
	fmt.Fprintf(&b, "%s| %-*s|\n%s", rule("="), total-1, "No running processes found in NPU 0", rule("="))
	h.Command(b.String(), "npu-smi", "info")
}

// topologyOf is the matrix of `npu-smi info -t topo`.
func topologyOf(label string, npus []ascendNPU, relation func(a, b int) string) string {
	var b strings.Builder
	b.WriteString("\t   ")
	for _, npu := range npus {
		fmt.Fprintf(&b, "%-11s", fmt.Sprint(label, npu.number))
	}
	b.WriteString("CPU Affinity\n")
	for i := range npus {
		fmt.Fprintf(&b, "%-11s", fmt.Sprint(label, npus[i].number))
		for j := range npus {
			word := "X"
			if i != j {
				word = relation(i, j)
			}
			fmt.Fprintf(&b, "%-11s", word)
		}
		b.WriteString("0-23\n")
	}
	b.WriteString("\nLegend:\n\n  X    = Self\n  SYS  = Path traversing PCIe and NUMA nodes. Nodes are connected through SMP, such as QPI, UPI.\n  HCCS = Connection traversing HCCS.\n  NA   = Unknown relationship.\n")
	return b.String()
}
