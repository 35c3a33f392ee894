package main

import (
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

func init() {
	recordings["gaudi2-8"] = gaudi2Host
	recordings["gaudi3-8"] = gaudi3Host
	recordings["gaudi2-vm"] = gaudiGuest
}

const gaudiSources = `
Names and words of the driver's files are those of Linux (Documentation/ABI/testing/sysfs-driver-habanalabs,
drivers/accel/habanalabs) and of Intel's current driver, where they lie in the folder of the card
(intel/intel-resource-drivers-for-kubernetes, pkg/gaudi); the fields of hl-smi are those of Intel's documentation of the
tool, and memory, idle use and the order of modules those that users show. Serial numbers in the UUIDs, the sizes of the
host and most PCI addresses are made up.`

// gaudiBoard are cards of one product.
type gaudiBoard struct {
	ids, name string
	link      string
	buses     []int
	// modules are the slots of the cards on the baseboard, in the same order.
	modules             []int
	totalMiB, idleMiB   int
	firmware, driver    string
	failed              int // the number of a card that the driver has given up; -1 where all work
	watts, temperatureC int
}

// addGaudi adds the cards to the bus, and what the driver and hl-smi say of them.
func addGaudi(h *compose.Host, b gaudiBoard, place func(i int) string) {
	h.File("/sys/module/habanalabs/version", b.driver)
	var lines strings.Builder
	for i, bus := range b.buses {
		status := "Operational"
		if i == b.failed {
			status = "Disabled"
		}
		card := compose.Function{
			Place: place(i), IDs: b.ids, Class: "120000", Revision: "01", Driver: "habanalabs", NUMA: i * 2 / len(b.buses), Link: b.link,
			Extra: map[string]string{"module_id": fmt.Sprint(b.modules[i]), "status": status, "cpucp_ver": b.firmware, "parent_device": fmt.Sprintf("0000:%02x:00.0", bus)},
		}
		h.PCI(card)
		addAccel(h, card.Folder(), i)
		control := fmt.Sprint("accel_controlD", i)
		h.File("/sys/devices/virtual/accel/"+control+"/uevent", "MAJOR=508\nDEVNAME=accel/"+control)
		h.Link("/sys/class/accel/"+control, "../../devices/virtual/accel/"+control)
		h.Device("/dev/accel/" + control)
		if i != b.failed {
			fmt.Fprintf(&lines, "%s, %d, 01P0-HL2080A0-15-TN00%02d-03-07-00, %s, %d, %d, %d, %d, 0\n",
				card.Address(), b.modules[i], i, b.name, b.totalMiB, b.idleMiB, b.temperatureC+i, b.watts+i)
		}
	}
	h.Command(lines.String(), "hl-smi", "-Q", "bus_id,module_id,uuid,name,memory.total,memory.used,temperature.aip,power.draw,utilization.aip",
		"-f", "csv,noheader,nounits")
}

func gaudi2Host() *compose.Host {
	h := compose.New("An HLS-Gaudi2 server: 8 Gaudi2 on one baseboard, two sockets.\n" + gaudiSources)
	h.Machine(server(2, processor{"Intel(R) Xeon(R) Platinum 8380 CPU @ 2.30GHz", 40, 2}, 1024, ubuntu("22.04.5", "5.15.0-151"), "Supermicro", "SYS-820GH-TNR2"))
	board := gaudiBoard{
		ids: "1da3:1020 1da3:1020", name: "HL-225", link: "16.0 GT/s PCIe x16", buses: []int{0x33, 0x34, 0x4d, 0x4e, 0x9a, 0x9b, 0xb3, 0xb4},
		modules: []int{2, 6, 3, 7, 0, 4, 5, 1}, totalMiB: 98304, idleMiB: 768, firmware: "hl-gaudi2-1.18.0-fw-53.1.1.1-sec-9", driver: "1.18.0-ee698fb",
		failed: -1, watts: 95, temperatureC: 26,
	}
	for _, root := range []int{0x30, 0x4a, 0x97, 0xb0} {
		port, up := gaudiSwitch(root)
		h.PCI(compose.Bridge(port, "8086:347a 8086:0000", board.link, root/0x80), compose.Bridge(up, "1000:c010 1000:a064", board.link, root/0x80))
		for slot := range 2 {
			h.PCI(compose.Bridge(fmt.Sprintf("%s/0000:%02x:%02x.0", up, root+2, slot), "1000:c010 1000:a064", board.link, root/0x80))
		}
	}
	addGaudi(h, board, func(i int) string {
		_, up := gaudiSwitch([]int{0x30, 0x4a, 0x97, 0xb0}[i/2])
		return fmt.Sprintf("%s/0000:%02x:%02x.0/0000:%02x:00.0", up, board.buses[i&^1]-1, i%2, board.buses[i])
	})
	return h
}

// gaudiSwitch is a PCIe switch below a host bridge, two cards behind it: its root port and its upstream port.
func gaudiSwitch(root int) (port, up string) {
	port = fmt.Sprintf("pci0000:%02x/0000:%02x:02.0", root, root)
	return port, fmt.Sprintf("%s/0000:%02x:00.0", port, root+1)
}

func gaudi3Host() *compose.Host {
	h := compose.New("A server with 8 Gaudi3 on one baseboard, of which the driver has disabled one after a failure, and two sockets.\n" + gaudiSources +
		"\nThat hl-smi leaves the failed card out is assumed.")
	h.Machine(server(2, processor{"INTEL(R) XEON(R) PLATINUM 8568Y+", 48, 2}, 2048, ubuntu("24.04.2", "6.8.0-60"), "Dell Inc.", "PowerEdge XE9680"))
	board := gaudiBoard{
		ids: "1da3:1060 1da3:1060", name: "HL-325L", link: "32.0 GT/s PCIe x16", buses: []int{0x19, 0x2a, 0x3b, 0x4d, 0x99, 0xaa, 0xbb, 0xcd},
		modules: []int{0, 1, 2, 3, 4, 5, 6, 7}, totalMiB: 131072, idleMiB: 672, firmware: "hl-gaudi3-1.20.1-fw-58.2.1.1-sec-11", driver: "1.20.1-97ec1a4",
		failed: 5, watts: 210, temperatureC: 33,
	}
	port := func(i int) string {
		return fmt.Sprintf("pci0000:%02x/0000:%02x:01.0", board.buses[i]-1, board.buses[i]-1)
	}
	for i := range board.buses {
		h.PCI(compose.Bridge(port(i), "8086:352a 8086:0000", board.link, i/4))
	}
	addGaudi(h, board, func(i int) string { return fmt.Sprintf("%s/0000:%02x:00.0", port(i), board.buses[i]) })
	return h
}

func gaudiGuest() *compose.Host {
	h := compose.New("A virtual machine with one Gaudi2 passed through to it.\n" + gaudiSources)
	h.Machine(server(1, processor{"Intel Xeon Processor (Icelake)", 16, 1}, 128, ubuntu("22.04.5", "5.15.0-151"), "QEMU", "Standard PC (Q35 + ICH9, 2009)"))
	addGaudi(h, gaudiBoard{
		ids: "1da3:1020 1da3:1020", name: "HL-225", buses: []int{0x00}, modules: []int{3}, totalMiB: 98304, idleMiB: 768,
		firmware: "hl-gaudi2-1.18.0-fw-53.1.1.1-sec-9", driver: "1.18.0-ee698fb", failed: -1, watts: 101, temperatureC: 29,
	}, func(int) string { return "pci0000:00/0000:00:05.0" })
	return h
}
