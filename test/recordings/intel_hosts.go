package main

import (
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

func init() {
	recordings["intel-a770-desktop"] = a770Desktop
	recordings["intel-b580-geforce"] = b580Host
	recordings["intel-flex170-2"] = flexHost
	recordings["intel-flex170-vm"] = flexGuest
	recordings["intel-meteor-lake"] = meteorLake
	recordings["intel-lunar-lake"] = lunarLake
}

const intelSources = `
Ids of the GPUs and NPUs are those of Linux (include/drm/intel/pciids.h, drivers/accel/ivpu); names and units of the
drivers' files those of Documentation/ABI/testing/sysfs-driver-intel-i915-hwmon and -xe-hwmon, checked against published
captures of an Arc A380 and an Arc B580; what xpu-smi prints follows its user guide (intel/xpumanager,
doc/smi_user_guide.md). PCI addresses, processors, firmware and UUIDs are made up.`

// intelMonitor are the files of a driver's monitor: i915 has one temperature, xe labels each.
func intelMonitor(driver string, number, milliC int) map[string]string {
	folder := fmt.Sprintf("hwmon/hwmon%d/", number)
	files := map[string]string{folder + "name": driver, folder + "energy1_input": "25637161804"}
	if driver == "i915" {
		files[folder+"temp1_input"] = fmt.Sprint(milliC)
		return files
	}
	files[folder+"temp2_label"], files[folder+"temp2_input"] = "pkg", fmt.Sprint(milliC)
	files[folder+"temp3_label"], files[folder+"temp3_input"] = "vram", fmt.Sprint(milliC+2000)
	return files
}

// intelWindow are the address registers of a card of which the processor sees so many GiB of memory.
func intelWindow(gib uint64) string {
	const first = 0x4000000000
	none := strings.Repeat("0x0000000000000000 ", 2) + "0x0000000000000000\n"
	return "0x0000000080000000 0x0000000080ffffff 0x0000000000140204\n" + none +
		fmt.Sprintf("0x%016x 0x%016x 0x000000000014220c\n", uint64(first), first+gib<<30-1) + none
}

// intelCard is a card behind a root port and the switch that cards of Arc and Flex carry.
func intelCard(h *compose.Host, bus int, f compose.Function, nodes ...string) {
	port := fmt.Sprintf("pci0000:%02x/0000:%02x:01.0", bus&^0xf, bus&^0xf)
	up := fmt.Sprintf("%s/0000:%02x:00.0", port, bus)
	down := fmt.Sprintf("%s/0000:%02x:01.0", up, bus+1)
	f.Place = fmt.Sprintf("%s/0000:%02x:00.0", down, bus+2)
	h.PCI(compose.Bridge(port, "8086:a70d 8086:0000", f.Link, f.NUMA), compose.Bridge(up, "8086:4fa0 0000:0000", f.Link, f.NUMA),
		compose.Bridge(down, "8086:4fa4 8086:4fa4", "2.5 GT/s PCIe x1", f.NUMA))
	f.Link = "2.5 GT/s PCIe x1"
	h.PCI(f)
	addDRM(h, f.Folder(), nodes...)
}

// a770Desktop has a card whose whole memory the processor sees, and graphics in the processor.
func a770Desktop() *compose.Host {
	h := compose.New("A desktop with an Arc A770 of 16 GB and graphics in its Core i7, without Intel's tools.\n" + intelSources +
		"\nThe size of the card follows from the window on its memory, which Resizable BAR makes as large.")
	h.Machine(server(1, processor{"13th Gen Intel(R) Core(TM) i7-13700K", 16, 1}, 64, ubuntu("24.04.3", "6.12.9"), "ASUS", "System Product Name"))
	graphics := compose.Function{
		Place: "pci0000:00/0000:00:02.0", IDs: "8086:a780 1043:8882", Class: "038000", Revision: "04", Driver: "i915", NUMA: -1,
	}
	h.PCI(graphics)
	addDRM(h, graphics.Folder(), "card1", "renderD129")
	files := intelMonitor("i915", 3, 47_000)
	files["resource"] = intelWindow(16)
	intelCard(h, 0x01, compose.Function{
		IDs: "8086:56a0 8086:1020", Class: "030000", Revision: "08", Driver: "i915", NUMA: -1, Link: "16.0 GT/s PCIe x16", Extra: files,
	}, "card0", "renderD128")
	return h
}

// b580Host has cards of two vendors.
func b580Host() *compose.Host {
	h := compose.New("A workstation with an Arc B580 by the driver xe beside a GeForce RTX 4090.\n" + intelSources + "\n" + nvidiaSources)
	h.Machine(server(1, ryzen7950X, 128, system{"6.17.0-5-generic", "Ubuntu 25.10"}, "ASRock", "X670E Taichi"))
	host := nvidiaHost{Driver: "580.105.08", CUDA: "13.0", GPUs: []nvidiaGPU{{
		Function: compose.Function{
			Place: "pci0000:00/0000:00:01.1/0000:01:00.0", IDs: "10de:2684 10de:16f3", Class: "030000", Revision: "a1", Driver: "nvidia", NUMA: -1,
			Link: "16.0 GT/s PCIe x16",
		},
		Product: "NVIDIA GeForce RTX 4090", Architecture: "Ada Lovelace", UUID: nvidiaUUID(0x50, 0), VBIOS: "95.02.18.80.87", MemoryMiB: 24564, ReservedMiB: 480,
	}}}
	addDRM(h, host.GPUs[0].Folder(), "card0", "renderD128")
	intelCard(h, 0x06, compose.Function{
		IDs: "8086:e20b 8086:1100", Class: "030000", Revision: "00", Driver: "xe", NUMA: -1, Link: "16.0 GT/s PCIe x8", Extra: intelMonitor("xe", 2, 54_000),
	}, "card1", "renderD129")
	return addNVIDIA(h, host)
}

// xpuAnswer is what xpu-smi prints of cards of one product.
func xpuAnswer(name, firmware, memory string, device int, addresses ...string) string {
	text := "Device ID,Device Name,UUID,GFX Firmware Version,PCI BDF Address,Memory Physical Size,GFX Firmware Status\n"
	for i, address := range addresses {
		bus := address[5:7]
		text += fmt.Sprintf("%d,%q,\"00000000-0000-00%s-0000-%04x%04x8086\",%q,%q,%q,normal\n", i, name, bus, 0, device, firmware, address, memory)
	}
	return text
}

const xpuDump = "1,2,4,9,11,16,22"

// flexHost has cards under Intel's own build of i915, and a BMC's display.
func flexHost() *compose.Host {
	h := compose.New("A server with 2 Data Center GPU Flex 170, with the driver and the tools that Intel packages.\n" + intelSources +
		"\nThe memory is that which the user guide shows for the product.")
	h.Machine(server(2, processor{"Intel(R) Xeon(R) Gold 6430", 32, 2}, 512, ubuntu("22.04.5", "5.15.0-151"), "Dell Inc.", "PowerEdge R760"))
	bmc := compose.Function{
		Place: "pci0000:00/0000:00:1c.4/0000:08:00.0", IDs: "102b:0536 1028:0b22", Class: "030000", Revision: "04", Driver: "mgag200", NUMA: 0,
	}
	h.PCI(compose.Bridge("pci0000:00/0000:00:1c.4", "8086:1bbc 8086:0000", "", 0), bmc)
	addDRM(h, bmc.Folder(), "card0")
	var addresses []string
	for i, bus := range []int{0x40, 0xc0} {
		card, render := fmt.Sprint("card", i+1), fmt.Sprint("renderD", 128+i)
		files := intelMonitor("i915", i+4, 41_000+1000*i)
		files["drm/"+card+"/lmem_total_bytes"], files["sriov_totalvfs"] = "14953742336", "31"
		intelCard(h, bus, compose.Function{
			IDs: "8086:56c0 8086:4905", Class: "038000", Revision: "08", Driver: "i915", NUMA: i, Link: "16.0 GT/s PCIe x16", Extra: files,
		}, card, render)
		addresses = append(addresses, fmt.Sprintf("0000:%02x:00.0", bus+2))
	}
	h.Command(xpuAnswer("Intel(R) Data Center GPU Flex 170", "DG02_1.3267", "14260.97 MiB", 0x56c0, addresses...), "xpu-smi", "discovery", "--dump", xpuDump)
	return h
}

// flexGuest sees one virtual function, which in the guest belongs to no other.
func flexGuest() *compose.Host {
	h := compose.New("A virtual machine with one virtual function of a Data Center GPU Flex 170, and the display that the hypervisor emulates.\n" + intelSources +
		"\nNothing tells the guest how much of the card's memory is its own.")
	h.Machine(server(1, processor{"Intel Xeon Processor (SapphireRapids)", 8, 1}, 32, ubuntu("24.04.3", "6.8.0-60"), "QEMU", "Standard PC (Q35 + ICH9, 2009)"))
	display := compose.Function{
		Place: "pci0000:00/0000:00:01.0", IDs: "1234:1111 1af4:1100", Class: "030000", Revision: "02", Driver: "bochs-drm", NUMA: -1,
	}
	part := compose.Function{
		Place: "pci0000:00/0000:00:06.0", IDs: "8086:56c0 8086:4905", Class: "030000", Revision: "08", Driver: "i915", NUMA: -1,
	}
	h.PCI(display, part)
	addDRM(h, display.Folder(), "card0")
	addDRM(h, part.Folder(), "card1", "renderD128")
	return h
}

// intelLaptop is a processor with graphics and an NPU of its own.
func intelLaptop(h *compose.Host, graphics, driver, npu string) *compose.Host {
	gpu := compose.Function{
		Place: "pci0000:00/0000:00:02.0", IDs: graphics, Class: "030000", Revision: "04", Driver: driver, NUMA: -1,
	}
	unit := compose.Function{
		Place: "pci0000:00/0000:00:0b.0", IDs: npu, Class: "120000", Revision: "04", Driver: "intel_vpu", NUMA: -1,
		Extra: map[string]string{"npu_busy_time_us": "184467"},
	}
	h.PCI(gpu, unit)
	addDRM(h, gpu.Folder(), "card1", "renderD128")
	addAccel(h, unit.Folder(), 0)
	return h
}

func meteorLake() *compose.Host {
	h := compose.New("A laptop with a Core Ultra 7 155H (Meteor Lake): graphics and an NPU in the processor.\n" + intelSources)
	h.Machine(server(1, processor{"Intel(R) Core(TM) Ultra 7 155H", 16, 1}, 32, ubuntu("24.04.3", "6.8.0-60"), "LENOVO", "21KCCTO1WW"))
	return intelLaptop(h, "8086:7d55 17aa:2234", "i915", "8086:7d1d 17aa:2234")
}

func lunarLake() *compose.Host {
	h := compose.New("A laptop with a Core Ultra 7 258V (Lunar Lake): graphics by the driver xe and an NPU in the processor.\n" + intelSources)
	h.Machine(server(1, processor{"Intel(R) Core(TM) Ultra 7 258V", 8, 1}, 32, ubuntu("24.04.3", "6.14.0-15"), "LENOVO", "21QHS00000"))
	return intelLaptop(h, "8086:64a0 17aa:513b", "xe", "8086:643e 17aa:513b")
}
