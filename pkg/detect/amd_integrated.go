package detect

import (
	"slices"
	"strings"
)

// integrated says whether a card is the graphics part of a processor. Its "VRAM" is host memory that the firmware sets
// aside, so counting it would count memory twice and put models on a device slower than the CPU's own cores need. What
// the catalogue lists is none of these: MI300A is a processor, too, but has memory of its own kind.
func (c *amdCard) integrated() bool {
	if c.known {
		return false
	}
	joined := slices.ContainsFunc(c.nodes, func(n amdNode) bool { return n.properties["cpu_cores_count"] > 0 })
	carveOut := c.totalBytes > 0 && c.totalBytes < minVRAM
	return joined || carveOut || slices.Contains(amdAPUs, c.DeviceID)
}

// minVRAM is below what any discrete GPU with compute support by amdgpu has; processors set aside 64 MiB to 512 MiB
// where nothing else is configured.
const minVRAM = 1 << 30

// amdAPUs are the device ids of the graphics in AMD's processors. Source: the PCI id database (pci-ids.ucw.cz).
var amdAPUs = strings.Fields(`
	1304 1305 1306 1307 1309 130a 130b 130c 130d 130e 130f 1310 1311 1312 1313 1315 1316 1317 1318 131b 131c 131d
	9830 9831 9832 9833 9834 9835 9836 9837 9838 9839 983d
	9850 9851 9852 9853 9854 9855 9856 9857 9858 9859 985a 985b 985c 985d 985e 985f
	9870 9874 9875 9876 9877 98e4
	15d8 15dd 15e7 1636 1638 164c 164d 164e 164f 1681 1506 163f 1435 143f 13fe
	15bf 15c8 1900 1901 1902 150e 1586 1114 13c0
`)
