package nvidia

import "strings"

// tegra is a processor with an integrated GPU.
type tegra struct{ architecture, capability string }

// tegras are the processors by their names in the device tree (Linux, Documentation/devicetree/bindings/arm/tegra.yaml),
// with the compute capabilities of NVIDIA's list.
var tegras = map[string]tegra{
	"nvidia,tegra210": {"Maxwell", "5.3"},
	"nvidia,tegra186": {"Pascal", "6.2"},
	"nvidia,tegra194": {"Volta", "7.2"},
	"nvidia,tegra234": {"Ampere", "8.7"},
	"nvidia,tegra264": {"Blackwell", "11.0"},
}

func tegraOf(compatible []string) (tegra, bool) {
	for _, entry := range compatible {
		if soc, ok := tegras[entry]; ok {
			return soc, true
		}
	}
	return tegra{}, false
}

// jetsonModule is a module with a Tegra processor and its memory.
type jetsonModule struct {
	name string
	// catalogue is the product's name in the catalogue; empty where the catalogue does not have it.
	catalogue string
}

// jetsonModules are the modules by the part numbers in the device tree (`nvidia,p3701-0005`). Source: NVIDIA's Jetson Linux
// developer guides (Jetson EEPROM Layout of release 32.7, Partition Configuration of 38.2, Quick Start of 36).
var jetsonModules = map[string]jetsonModule{
	"p3448-0000": {"Jetson Nano", ""},
	"p3448-0002": {"Jetson Nano", ""},
	"p3448-0003": {"Jetson Nano 2GB", ""},
	"p3310-1000": {"Jetson TX2", ""},
	"p3489-0000": {"Jetson TX2i", ""},
	"p3489-0080": {"Jetson TX2 4GB", ""},
	"p2888-0001": {"Jetson AGX Xavier 16GB", ""},
	"p2888-0004": {"Jetson AGX Xavier 32GB", ""},
	"p2888-0005": {"Jetson AGX Xavier 64GB", ""},
	"p2888-0008": {"Jetson AGX Xavier Industrial", ""},
	"p3668-0000": {"Jetson Xavier NX", ""},
	"p3668-0001": {"Jetson Xavier NX", ""},
	"p3668-0003": {"Jetson Xavier NX 16GB", ""},
	"p3701-0000": {"Jetson AGX Orin 32GB", "Orin (nvgpu) AGX 32GB"},
	"p3701-0004": {"Jetson AGX Orin 32GB", "Orin (nvgpu) AGX 32GB"},
	"p3701-0005": {"Jetson AGX Orin 64GB", "Orin (nvgpu) AGX 64GB"},
	"p3701-0008": {"Jetson AGX Orin Industrial", ""},
	"p3767-0000": {"Jetson Orin NX 16GB", "Orin (nvgpu) NX 16GB"},
	"p3767-0001": {"Jetson Orin NX 8GB", ""},
	"p3767-0003": {"Jetson Orin Nano 8GB", ""},
	"p3767-0004": {"Jetson Orin Nano 4GB", ""},
	"p3767-0005": {"Jetson Orin Nano 8GB", ""},
	"p3834-0008": {"Jetson T5000", ""},
}

// jetsonModuleOf finds the module: an entry of its own, or the second part of a board's (`nvidia,p3737-0000+p3701-0005`),
// with or without a revision (`p3448-0000-b00`).
func jetsonModuleOf(compatible []string) (jetsonModule, bool) {
	for _, entry := range compatible {
		name, found := strings.CutPrefix(entry, "nvidia,")
		if !found {
			continue
		}
		for part := range strings.SplitSeq(name, "+") {
			if module, ok := jetsonModules[part[:min(len(part), len("p3701-0005"))]]; ok {
				return module, true
			}
		}
	}
	return jetsonModule{}, false
}
