package main

import (
	"github.com/rankwright/rankwright/test/recordings/compose"
)

func init() {
	recordings["hailo-8-raspberry-pi"] = hailo8Host
	recordings["hailo-10h-raspberry-pi"] = hailo10Host
}

const hailoSources = `
PCI ids, the class hailo_chardev and its files are those of hailo-ai/hailort-drivers and pci.ids; the tree of the Raspberry
Pi 5, its addresses, the names of nodes and the output of hailortcli are those that users print in public guides.`

func addRaspberryPi(h *compose.Host) {
	h.ArmMachine(compose.Machine{
		Sockets: 1, CoresPerSocket: 4, NodesPerSocket: compose.NoNUMA, MemoryGiB: 8, Kernel: "6.12.25+rpt-rpi-2712", OS: "Debian GNU/Linux 12 (bookworm)",
	}, compose.MIDR{Implementer: "0x41", Part: "0xd0b"})
}

// hailo8Host does not run hailortcli's identify successfully with all fields: the HAT's module has no serial number.
func hailo8Host() *compose.Host {
	h := compose.New("A Raspberry Pi 5 with a Hailo-8 on an AI HAT+.\n" + hailoSources)
	addRaspberryPi(h)
	addHailo(h, "2864", "hailo", "hailo0")
	h.Command(`Executing on device: 0001:01:00.0
Identifying board
Control Protocol Version: 2
Firmware Version: 4.20.0 (release,app,extended context switch buffer)
Logger Version: 0
Board Name: Hailo-8
Device Architecture: HAILO8
Serial Number: <N/A>
Part Number: <N/A>
Product Name: <N/A>
`, "hailortcli", "fw-control", "identify")
	return h
}

func hailo10Host() *compose.Host {
	h := compose.New("A Raspberry Pi 5 with a Hailo-10H on an AI HAT+ 2.\n" + hailoSources)
	addRaspberryPi(h)
	addHailo(h, "45c4", "hailo1x", "h1x-0")
	h.Command(`Executing on device: 0001:01:00.0
Identifying board
Control Protocol Version: 2
Firmware Version: 5.1.1 (release,app)
Device Architecture: HAILO10H
`, "hailortcli", "fw-control", "identify")
	return h
}

// addHailo adds the processor behind the Pi's PCIe connector, whose class device has no device link: the driver writes
// the address into board_location.
func addHailo(h *compose.Host, device, driver, node string) {
	const root = "platform/axi/1000110000.pcie/pci0001:00/0001:00:00.0"
	h.PCI(compose.Bridge(root, "14e4:2712 0000:0000", "8.0 GT/s PCIe x1", -1), compose.Function{
		Place: root + "/0001:01:00.0", IDs: "1e60:" + device + " 1e60:" + device, Class: "0b4000", Revision: "01", Driver: driver, NUMA: -1, Link: "8.0 GT/s PCIe x4",
	})
	own := "/sys/devices/virtual/hailo_chardev/" + node
	h.Files(own, map[string]string{"board_location": "0001:01:00.0", "device_id": "1e60:" + device, "uevent": "MAJOR=511\nMINOR=0\nDEVNAME=" + node})
	h.Link("/sys/class/hailo_chardev/"+node, "../../devices/virtual/hailo_chardev/"+node)
	h.Device("/dev/" + node)
}
