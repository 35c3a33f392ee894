package amd

import (
	"slices"
	"strings"
)

// integrated says whether a card is the graphics part of a processor: by its id, by its KFD node, which has the processor's
// cores as well, or by how little "VRAM" it has, which is host memory that the firmware sets aside. What the catalogue
// lists is none of the last two: MI300A is a processor, too, but has memory of its own kind.
func (c *amdCard) integrated() bool {
	if slices.Contains(amdAPUs, c.DeviceID) {
		return true
	}
	if c.known {
		return false
	}
	joined := slices.ContainsFunc(c.nodes, func(n kfdNode) bool { return n.properties["cpu_cores_count"] > 0 })
	carveOut := c.totalBytes > 0 && c.totalBytes < minVRAM
	return joined || carveOut
}

// withoutSpare leaves out the graphics of a processor beside cards, unless somebody had the firmware set memory aside for
// them: who asks for a GPU of such a host means a card.
func withoutSpare(cards []amdCard) []amdCard {
	if !slices.ContainsFunc(cards, func(c amdCard) bool { return c.shared == nil }) {
		return cards
	}
	return slices.DeleteFunc(cards, func(c amdCard) bool { return c.shared != nil && c.shared.carveOut < minVRAM })
}

// minVRAM is below what any discrete GPU with compute support by amdgpu has, and below what work on a GPU needs; processors
// set aside 64 MiB to 512 MiB where nothing else is configured.
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

// amdAPUName is what the graphics in a processor are called; by the processor's code name where one id stands for several.
func amdAPUName(deviceID, revision string) string {
	if name, ok := amdAPUNames[deviceID+" "+revision]; ok {
		return name
	}
	return amdAPUNames[deviceID]
}

// amdAPUNames are by device id, and by device id and revision where the revision tells more. Sources: the PCI id database;
// data/amdgpu.ids of libdrm.
var amdAPUNames = map[string]string{
	"1586": "AMD Radeon 8060S / 8050S / 8040S (Strix Halo)", "1586 d5": "AMD Radeon 8040S",
	"1586 c1": radeon8060S, "1586 c3": radeon8060S, "1586 c6": radeon8060S, "1586 d1": radeon8060S,
	"1586 c2": radeon8050S, "1586 c4": radeon8050S, "1586 d2": radeon8050S, "1586 d4": radeon8050S,
	"150e": "AMD Radeon 890M / 880M (Strix Point)", "150e c1": radeon890M, "150e d1": radeon890M, "150e c4": "AMD Radeon 880M",
	"15bf": "AMD Radeon 780M / 760M / 740M (Phoenix)", "15bf dd": radeon780M, "15bf c1": radeon780M, "15bf c4": radeon780M,
	"15c8": "AMD Radeon 740M (Phoenix)", "1900": "AMD Radeon 780M / 760M (Hawk Point)", "1901": "AMD Radeon 740M (Hawk Point)",
	"1902": "AMD Radeon 840M / 820M", "1681": "AMD Radeon 680M / 660M (Rembrandt)", "163f": "AMD Custom GPU 0405 (Van Gogh)",
	"1435": "AMD Custom GPU 0932", "164e": "AMD Radeon 610M (Raphael)", "1506": "AMD Radeon 610M (Mendocino)",
	"1638": "AMD Radeon Vega (Cezanne)", "15e7": "AMD Radeon Vega (Barcelo)", "1636": "AMD Radeon Vega (Renoir)",
	"164c": "AMD Radeon Vega (Lucienne)", "15d8": "AMD Radeon Vega (Picasso)", "15dd": "AMD Radeon Vega (Raven Ridge)",
}

const (
	radeon8060S = "AMD Radeon 8060S"
	radeon8050S = "AMD Radeon 8050S"
	radeon890M  = "AMD Radeon 890M"
	radeon780M  = "AMD Radeon 780M"
)
