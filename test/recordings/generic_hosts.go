package main

import (
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

func init() {
	recordings["generic-mali"] = maliBoard
	recordings["generic-moore-threads"] = mooreThreadsHost
	recordings["generic-unknown-gpu"] = unknownGPUHost
	recordings["generic-aspeed"] = aspeedServer
	recordings["generic-accelerators"] = unknownAccelerators
}

const vulkanSources = `
What vulkaninfo prints has the form of published outputs of its summary; vendor ids are those of the PCI id database. PCI
and device tree addresses, driver versions and UUIDs are made up.`

// vulkanSummary prints devices as vulkaninfo does, and the software rasteriser that Mesa adds.
func vulkanSummary(devices ...[4]string) string {
	var text strings.Builder
	text.WriteString("==========\nVULKANINFO\n==========\n\nVulkan Instance Version: 1.4.309\n\n\nInstance Extensions: count = 24\n" +
		"-------------------------------\nVK_KHR_device_group_creation : extension revision 1\n\nDevices:\n========\n")
	for i, d := range append(devices, [4]string{"0x10005", "0x0000", "CPU", "llvmpipe (LLVM 19.1.7, 128 bits)"}) {
		fmt.Fprintf(&text, "GPU%d:\n\tapiVersion         = 1.4.305\n\tdriverVersion      = 25.0.7\n\tvendorID           = %s\n\tdeviceID           = %s\n"+
			"\tdeviceType         = PHYSICAL_DEVICE_TYPE_%s\n\tdeviceName         = %s\n\tconformanceVersion = 1.4.1.2\n"+
			"\tdeviceUUID         = 4d657361-3235-2e30-2e37-0000000000%02d\n", i, d[0], d[1], d[2], d[3], i)
	}
	return text.String()
}

// vulkanListing is what vulkaninfo prints of a device in full, as far as its memory goes: a heap of its own, the host's and the
// window to the first.
func vulkanListing(d [4]string, bytes int64) string {
	text := fmt.Sprintf("GPU0:\nVkPhysicalDeviceProperties:\n---------------------------\n\tvendorID        = %s\n\tdeviceID        = %s\n"+
		"\tdeviceType      = PHYSICAL_DEVICE_TYPE_%s\n\tdeviceName      = %s\n\nVkPhysicalDeviceMemoryProperties:\n"+
		"=================================\nmemoryHeaps: count = 3\n", d[0], d[1], d[2], d[3])
	for i, heap := range []struct {
		bytes int64
		flag  string
	}{{bytes, "MEMORY_HEAP_DEVICE_LOCAL_BIT"}, {128 << 30, "None"}, {256 << 20, "MEMORY_HEAP_DEVICE_LOCAL_BIT"}} {
		text += fmt.Sprintf("\tmemoryHeaps[%d]:\n\t\tsize   = %d (0x%x) (%.2f GiB)\n\t\tflags: count = 1\n\t\t\t%s\n", i, heap.bytes, heap.bytes, float64(heap.bytes)/(1<<30), heap.flag)
	}
	return text + "memoryTypes: count = 11\n"
}

// maliBoard has no PCI: the GPU and the display are devices of the chip.
func maliBoard() *compose.Host {
	h := compose.New("A board with a Rockchip RK3588: a Mali-G610 in the chip by the driver panthor, and a display controller of its own.\n" + vulkanSources)
	h.ArmMachine(compose.Machine{CoresPerSocket: 8, MemoryMiB: 16000, Kernel: "6.12.20-rockchip64", OS: "Armbian 25.2 bookworm"}, compose.CortexA55)
	for _, device := range []struct {
		name, driver string
		nodes        []string
	}{
		{"display-subsystem", "rockchip-drm", []string{"card0"}},
		{"fb000000.gpu", "panthor", []string{"card1", "renderD128"}},
	} {
		folder := "/sys/devices/platform/" + device.name
		h.Folder("/sys/bus/platform/drivers/" + device.driver)
		h.Link(folder+"/driver", "../../../bus/platform/drivers/"+device.driver)
		addDRM(h, folder, device.nodes...)
	}
	h.Command(vulkanSummary([4]string{"0x13b5", "0xa8670000", "INTEGRATED_GPU", "Mali-G610"}), "vulkaninfo", "--summary")
	return h
}

func genericServer() compose.Machine {
	return server(2, processor{"Intel(R) Xeon(R) Silver 4314 CPU @ 2.40GHz", 16, 2}, 256, ubuntu("24.04.2", "6.8.0-60"), "Supermicro", "SYS-120U-TNR")
}

// addASPEED adds the display of a management processor, which is card0 on most servers.
func addASPEED(h *compose.Host) {
	bmc := compose.Function{
		Place: "pci0000:00/0000:00:1c.5/0000:02:00.0/0000:03:00.0", IDs: "1a03:2000 15d9:1b50", Class: "030000", Revision: "41", Driver: "ast", NUMA: 0,
	}
	h.PCI(compose.Bridge("pci0000:00/0000:00:1c.5", "8086:a195 8086:0000", "", 0),
		compose.Bridge("pci0000:00/0000:00:1c.5/0000:02:00.0", "1a03:1150 1a03:1150", "", 0), bmc)
	addDRM(h, bmc.Folder(), "card0")
}

func aspeedServer() *compose.Host {
	h := compose.New("A server without accelerators: the only display is that of its management processor.\n" +
		"\nThe id of the display is that of the PCI id database; addresses are made up.")
	h.Machine(genericServer())
	addASPEED(h)
	return h
}

// addCard adds a card with a render node behind a root port.
func addCard(h *compose.Host, bus int, ids, driver string, number int) {
	port := fmt.Sprintf("pci0000:%02x/0000:%02x:02.0", bus-1, bus-1)
	card := compose.Function{
		Place: fmt.Sprintf("%s/0000:%02x:00.0", port, bus), IDs: ids, Class: "030000", Revision: "01", Driver: driver, NUMA: number / 2, Link: "32.0 GT/s PCIe x16",
	}
	h.PCI(compose.Bridge(port, "8086:347a 8086:0000", card.Link, number/2), card)
	addDRM(h, card.Folder(), fmt.Sprint("card", number), fmt.Sprint("renderD", 127+number))
}

func mooreThreadsHost() *compose.Host {
	h := compose.New("A server with 2 cards of Moore Threads, which have no backend of their own.\n" + vulkanSources +
		"\nThe device id and the name that Vulkan gives it are made up.")
	h.Machine(genericServer())
	addASPEED(h)
	for i, bus := range []int{0x4b, 0xb1} {
		addCard(h, bus, "1ed5:0222 1ed5:0001", "mtgpu", i+1)
	}
	s80 := [4]string{"0x1ed5", "0x0222", "DISCRETE_GPU", "MTT S80"}
	h.Command(vulkanSummary(s80, s80), "vulkaninfo", "--summary")
	h.Command(vulkanListing(s80, 16<<30), "vulkaninfo")
	return h
}

func unknownGPUHost() *compose.Host {
	h := compose.New("A server with a GPU of a vendor that nothing knows, without vulkaninfo.\n\nThe vendor, its id and its driver are made up.")
	h.Machine(genericServer())
	addASPEED(h)
	addCard(h, 0x4b, "fff0:0001 fff0:0001", "newgpu", 1)
	return h
}

// unknownAccelerators are of vendors that have no backend, and one of a vendor that has no name here either.
func unknownAccelerators() *compose.Host {
	h := compose.New("A server with accelerators of vendors that no backend knows.\n\n" +
		"Vendor ids are those of the PCI id database or of drivers that the vendors publish; device ids but those of Enflame and Hygon, addresses and drivers are made up.")
	h.Machine(genericServer())
	addASPEED(h)
	for i, card := range []struct{ ids, class, driver string }{
		{"cabc:0370 cabc:0001", "120000", "cambricon-drv"},
		{"1e3e:0001 1e3e:0001", "120000", "iluvatar"},
		{"9999:4000 9999:0001", "120000", "metax"},
		{"1e36:0003 1e36:0001", "120000", "enflame"},
		{"1d94:6210 1d94:6210", "038000", "hydcu"},
		{"fffa:0001 fffa:0001", "120000", ""},
	} {
		bus := 0x31 + 0x10*i
		port := fmt.Sprintf("pci0000:%02x/0000:%02x:02.0", bus-1, bus-1)
		h.PCI(compose.Bridge(port, "8086:347a 8086:0000", "16.0 GT/s PCIe x16", i/3), compose.Function{
			Place: fmt.Sprintf("%s/0000:%02x:00.0", port, bus), IDs: card.ids, Class: card.class, Revision: "01", Driver: card.driver, NUMA: i / 3, Link: "16.0 GT/s PCIe x16",
		})
	}
	return h
}
