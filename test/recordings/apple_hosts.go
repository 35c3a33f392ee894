package main

import (
	"github.com/rankwright/rankwright/test/recordings/compose"
)

func init() {
	recordings["apple-m1-max-asahi"] = m1MaxHost
	recordings["apple-m2-asahi"] = m2Host
	recordings["apple-m3-max-macos"] = macHost
}

const asahiSources = `
The board's and the GPU's strings are those of the device trees of Linux and of the driver asahi, the GPU's address and its
DRM nodes those that users of such machines published. Versions are made up.`

// asahi is a Mac under Asahi Linux.
func asahi(cores, memoryGiB int) compose.Machine {
	return compose.Machine{
		Sockets: 1, CoresPerSocket: cores, MemoryGiB: memoryGiB,
		Kernel: "6.16.8-400.asahi.fc42.aarch64+16k", OS: "Fedora Linux Asahi Remix 42 (KDE Plasma Desktop Edition)",
	}
}

// m1MaxHost has a Neural Engine with the driver that is made outside of Linux.
func m1MaxHost() *compose.Host {
	h := compose.New("A MacBook Pro with an Apple M1 Max under Asahi Linux, with a driver of its Neural Engine.\n" + asahiSources + `
The Neural Engine's strings, driver and node are those of its driver, which is made outside of Linux, and its users; its
address is made up.`)
	addSoC(h, asahi(10, 64), compose.MIDR{Implementer: "0x61", Part: "0x029"}, "Apple MacBook Pro (16-inch, M1 Max, 2021)",
		"apple,j316c", "apple,t6001", "apple,arm-platform")
	addAGX(h, "apple,agx-t6001", "apple,agx-g13x")
	ane := platform{Place: "soc/284000000.ane", Node: "soc/ane@284000000", Compatible: []string{"apple,t6000-ane"}, Driver: "ane"}
	addPlatform(h, ane)
	addAccel(h, ane.Folder(), 0)
	return h
}

// m2Host has no driver of its Neural Engine, which its device tree does not describe.
func m2Host() *compose.Host {
	h := compose.New("A MacBook Air with an Apple M2 under Asahi Linux.\n" + asahiSources)
	addSoC(h, asahi(8, 16), compose.MIDR{Implementer: "0x61", Part: "0x032"}, "Apple MacBook Air (13-inch, M2, 2022)",
		"apple,j413", "apple,t8112", "apple,arm-platform")
	addAGX(h, "apple,agx-t8112", "apple,agx-g14g")
	return h
}

// addAGX adds the GPU, whose display controller is another DRM device and has card0.
func addAGX(h *compose.Host, compatible ...string) {
	gpu := platform{Place: "soc/406400000.gpu", Node: "soc/gpu@406400000", Compatible: compatible, Driver: "asahi"}
	display := platform{Place: "soc/soc:display-subsystem", Node: "soc/display-subsystem", Compatible: []string{"apple,display-subsystem"}, Driver: "apple-drm"}
	addPlatform(h, gpu, display)
	addDRM(h, display.Folder(), "card0")
	addDRM(h, gpu.Folder(), "card1", "renderD128")
}

// macHost has no file but the one by which a Mac is known.
func macHost() *compose.Host {
	h := compose.NewWithoutPCI(`
A MacBook Pro with an Apple M3 Max (40-core GPU) and 128 GiB under macOS.

system_profiler's JSON has the keys and words of outputs that users published of such machines, sysctl's numbers are those of
the product; the version of macOS is made up. On macOS there is neither /sys nor /proc.`)
	h.File("/System/Library/CoreServices/SystemVersion.plist", `<?xml version="1.0" encoding="UTF-8"?>
<plist version="1.0">
<dict>
	<key>ProductName</key>
	<string>macOS</string>
	<key>ProductVersion</key>
	<string>15.6</string>
</dict>
</plist>`)
	h.Command(`{
  "SPHardwareDataType" : [
    {
      "_name" : "hardware_overview",
      "activation_lock_status" : "activation_lock_disabled",
      "boot_rom_version" : "11881.140.96",
      "chip_type" : "Apple M3 Max",
      "machine_model" : "Mac15,9",
      "machine_name" : "MacBook Pro",
      "model_number" : "Z1CM000BAD/A",
      "number_processors" : "proc 16:12:4",
      "os_loader_version" : "11881.140.96",
      "physical_memory" : "128 GB",
      "platform_UUID" : "C0FFEE00-0000-4000-8000-000000000000",
      "serial_number" : "C0FFEE0000"
    }
  ],
  "SPDisplaysDataType" : [
    {
      "_name" : "Apple M3 Max",
      "spdisplays_mtlgpufamilysupport" : "spdisplays_metal3",
      "spdisplays_ndrvs" : [
        {
          "_name" : "Color LCD",
          "_spdisplays_pixels" : "3456 x 2234",
          "spdisplays_connection_type" : "spdisplays_internal",
          "spdisplays_main" : "spdisplays_yes"
        }
      ],
      "spdisplays_vendor" : "sppci_vendor_Apple",
      "sppci_bus" : "spdisplays_builtin",
      "sppci_cores" : "40",
      "sppci_device_type" : "spdisplays_gpu",
      "sppci_model" : "Apple M3 Max"
    }
  ]
}
`, "system_profiler", "SPHardwareDataType", "SPDisplaysDataType", "-json")
	h.Command("137438953472\n", "sysctl", "-n", "hw.memsize")
	h.Command("137438953472\n16\n16\n1\narm64\nApple M3 Max\n24.6.0\n", "sysctl", "-n", "hw.memsize", "hw.logicalcpu", "hw.physicalcpu",
		"hw.packages", "hw.machine", "machdep.cpu.brand_string", "kern.osrelease")
	return h
}
