package main

import (
	"github.com/rankwright/rankwright/internal/nvml/report"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

func init() {
	recordings["nvidia-gb10"] = gb10Host
	recordings["nvidia-thor-no-pci"] = thorHost
	recordings["nvidia-wsl2"] = wslHost
}

const gb10Readme = `
A DGX Spark: one GB10, whose GPU works in the memory of the processor. NVML tells neither its total nor what is used.

PCI ids, driver, size of the memory and what NVML leaves out are what users of the machine published (leptonai/gpud issue 1170,
XuehaiPan/nvitop issue 208); the UUID, the bridge and the memory that is available are made up.`

func gb10Host() *compose.Host {
	h := compose.New(gb10Readme)
	h.ArmMachine(compose.Machine{
		Sockets: 1, CoresPerSocket: 20, MemoryGiB: 119, AvailableGiB: 80, Kernel: "6.14.0-1015-nvidia", OS: "Ubuntu 24.04.3 LTS",
		DMI: map[string]string{"sys_vendor": "NVIDIA", "product_name": "NVIDIA_DGX_Spark"},
	}, compose.MIDR{Implementer: "0x41", Part: "0xd87"})
	gpu := compose.Function{
		Place: "pci000f:00/000f:00:00.0/000f:01:00.0", IDs: "10de:2e12 10de:21ec", Class: "030000", Revision: "a1", Driver: "nvidia", NUMA: -1,
	}
	h.PCI(compose.Bridge("pci000f:00/000f:00:00.0", "10de:22d1 10de:0000", "32.0 GT/s PCIe x16", -1))
	addNVML(h, nvmlHost{driver: "580.126.09", cuda: "13.0", gpus: []nvmlGPU{{gpu, report.GPU{
		Name: "NVIDIA GB10", UUID: nvidiaUUID(0x12, 0), Minor: new(int32(0)), Architecture: "Blackwell", ComputeCapability: "12.1",
		TemperatureC: new(int64(36)), UtilizationPercent: new(int64(2)),
	}}}})
	return h
}

const thorReadme = `
A Jetson AGX Thor whose GPU is on no PCI bus that the host shows, as in a guest or with part of /sys: NVML tells its UUID alone.

The device tree is what users of the developer kit published (rbonghi/jetson_stats issues 711 and 885); that there is no address is
an assumption, UUID and memory are made up.`

func thorHost() *compose.Host {
	h := compose.New(thorReadme)
	h.ArmMachine(compose.Machine{
		Sockets: 1, CoresPerSocket: 14, MemoryGiB: 122, AvailableGiB: 110, Kernel: "6.8.12-tegra", OS: "Ubuntu 24.04 LTS", DMI: map[string]string{},
	}, compose.MIDR{Implementer: "0x41", Part: "0xd83"})
	h.Link("/proc/device-tree", "/sys/firmware/devicetree/base")
	h.Keep(h.AddFile("/sys/firmware/devicetree/base/compatible", "nvidia,p4071-0000+p3834-0008\x00nvidia,p3834-0008\x00nvidia,tegra264\x00"))
	h.File("/proc/driver/nvidia/version", "NVRM version: NVIDIA UNIX Open Kernel Module for aarch64  580.00  Release Build")
	h.Device("/dev/nvidia0")
	printNVML(h, report.Host{Library: "libnvidia-ml.so.1", DriverVersion: "580.00", CUDAVersion: "13.0", GPUs: []report.GPU{{
		Name: "NVIDIA Thor", UUID: nvidiaUUID(0x13, 0), Minor: new(int32(0)), Architecture: "Blackwell", ComputeCapability: "11.0",
	}}})
	return h
}

const wslReadme = `
A distribution in the Windows Subsystem for Linux, with an RTX 4090 of its Windows: no PCI bus, one node for all GPUs, and libraries
and tools that Windows mounts. NVML tells the address that the GPU has in Windows, and no minor number.

Paths are those of NVIDIA's CUDA on WSL User Guide; that minor numbers are not supported is NVIDIA/k8s-device-plugin issue 332. The
UUID, versions and memory in use are made up.`

func wslHost() *compose.Host {
	h := compose.New(wslReadme)
	h.Machine(guest("6.6.87.2-microsoft-standard-WSL2", "Ubuntu 24.04.2 LTS", map[string]string{}))
	h.Device("/dev/dxg")
	h.Keep(h.AddFile("/usr/lib/wsl/lib/libnvidia-ml.so.1", "\x7fELF"))
	printNVML(h, report.Host{Library: "/usr/lib/wsl/lib/libnvidia-ml.so.1", DriverVersion: "581.57", CUDAVersion: "13.0", GPUs: []report.GPU{{
		PCI: "0000:01:00.0", Name: "NVIDIA GeForce RTX 4090", UUID: nvidiaUUID(0x14, 0), Architecture: "Ada", ComputeCapability: "8.9",
		Memory: &report.Memory{TotalMiB: 24564, UsedMiB: 1890}, TemperatureC: new(int64(41)), PowerMilliW: new(int64(21_500)),
	}}})
	return h
}
