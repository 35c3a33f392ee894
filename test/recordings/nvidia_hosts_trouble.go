package main

import (
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/test/recordings/compose"
)

func init() {
	recordings["nvidia-h100-2-of-8"] = containerHost
	recordings["nvidia-a100-lost"] = lostHost
	recordings["nvidia-a100-err"] = errHost
	recordings["nvidia-h100-nouveau"] = nouveauHost
	recordings["nvidia-h100-vfio"] = vfioHost
	recordings["nvidia-h100-no-driver"] = noDriverHost
}

const troubleSources = `
PCI ids, product names and memory are those of published captures of the product; what the tool says of broken GPUs is
NVML's wording as published in reports of such faults; addresses, UUIDs and bridges are made up.`

// pcieHost are GPUs of a product on root ports of their own, half of them on each of two sockets.
func pcieHost(readme string, machine byte, product nvidiaProduct, buses ...int) (*compose.Host, []nvidiaGPU) {
	h := compose.New(readme + "\n" + troubleSources)
	h.Machine(hopperMachine())
	var gpus []nvidiaGPU
	for i, bus := range buses {
		gpu := product.at(machine, i, rootPort(bus), 2*i/len(buses))
		gpu.Fabric = false
		gpus = append(gpus, gpu)
	}
	withBridges(h, "8086:352a 8086:0000", gpus)
	return h, gpus
}

// containerHost is what a container sees that was given 2 of 8 GPUs: the bus shows all, the driver's files, the device
// nodes and the tool those two. The tool counts them from 0, their minors stay.
func containerHost() *compose.Host {
	h, gpus := pcieHost("A container that was given 2 of its host's 8 NVIDIA H100 80GB HBM3.", 0x30, h100SXM,
		0x11, 0x21, 0x31, 0x41, 0x91, 0xa1, 0xb1, 0xc1)
	h.File("/.dockerenv", "")
	at := nvidiaHost{Driver: "580.105.08", CUDA: "13.0"}
	for i, gpu := range gpus {
		if i == 2 || i == 5 {
			at.GPUs = append(at.GPUs, gpu)
			continue
		}
		h.PCI(gpu.Function)
	}
	return addNVIDIA(h, at)
}

// lostHost has a GPU that fell off the bus: its handle cannot be had, and that ends the report of all.
func lostHost() *compose.Host {
	h, gpus := pcieHost("A host with 4 NVIDIA A100 80GB PCIe of which one is lost.", 0x31, a100PCIe, 0x11, 0x31, 0x91, 0xb1)
	shown := nvidiaHost{Driver: "550.163.01", CUDA: "12.4", GPUs: gpus}
	addNVIDIADriver(h, shown)
	fails := host.CommandResult{ExitCode: 15, Stdout: fmt.Appendf(nil,
		"Unable to determine the device handle for GPU%s: GPU is lost.  Reboot the system to recover this GPU\n", gpus[2].Address())}
	h.Keep(h.AddCommand(fails, "nvidia-smi", "-q", "-x"))
	for i, gpu := range gpus {
		argv := []string{"nvidia-smi", "-q", "-x", "-i", gpu.Address()}
		if i == 2 {
			h.Keep(h.AddCommand(fails, argv...))
			continue
		}
		alone := shown
		alone.GPUs = []nvidiaGPU{gpu}
		report, err := alone.report()
		h.Keep(err)
		h.Command(report, argv...)
	}
	h.Command(shown.nvlinks(), "nvidia-smi", "nvlink", "-s")
	h.Command(shown.topology(), "nvidia-smi", "topo", "-m")
	return h
}

// errHost has a GPU of which the tool can read nothing that the driver would have to ask it for.
func errHost() *compose.Host {
	h, gpus := pcieHost("A host with 2 NVIDIA A100 80GB PCIe of which one does not answer: the tool prints ERR! for it.", 0x32, a100PCIe, 0x11, 0x91)
	at := nvidiaHost{Driver: "550.163.01", CUDA: "12.4", GPUs: gpus}
	addNVIDIADriver(h, at)
	report, err := at.report()
	h.Keep(err)
	before, broken, found := strings.Cut(report, `<gpu id="`+gpus[1].BusID())
	if !found {
		h.Keep(fmt.Errorf("the report has no GPU %s", gpus[1].BusID()))
	}
	broken = strings.NewReplacer("<total>81920 MiB", "<total>ERR!", "<used>0 MiB", "<used>ERR!", "<free>81279 MiB", "<free>ERR!",
		"<reserved>641 MiB", "<reserved>ERR!", "<dram_uncorrectable>0", "<dram_uncorrectable>ERR!").Replace(broken)
	h.Command(before+`<gpu id="`+gpus[1].BusID()+broken, "nvidia-smi", "-q", "-x")
	h.Command(at.list(), "nvidia-smi", "-L")
	h.Command(at.nvlinks(), "nvidia-smi", "nvlink", "-s")
	h.Command(at.topology(), "nvidia-smi", "topo", "-m")
	return h
}

// nouveauHost has the kernel's own driver instead of NVIDIA's, and no tool.
func nouveauHost() *compose.Host {
	h, gpus := pcieHost("A host with 2 NVIDIA H100 80GB HBM3 that the kernel's nouveau drives; NVIDIA's driver is not installed.", 0x33, h100SXM, 0x11, 0x91)
	h.AllowCommands()
	for i, gpu := range gpus {
		gpu.Driver = "nouveau"
		h.PCI(gpu.Function)
		addDRM(h, gpu.Folder(), fmt.Sprint("card", i), fmt.Sprint("renderD", 128+i))
	}
	return h
}

// vfioHost gives two of its GPUs to virtual machines.
func vfioHost() *compose.Host {
	h, gpus := pcieHost("A host with 4 NVIDIA H100 80GB HBM3 of which two are bound to vfio-pci for virtual machines.", 0x34, h100SXM, 0x11, 0x31, 0x91, 0xb1)
	h.Device("/dev/vfio/vfio")
	for i := range 2 {
		gpu := &gpus[2+i]
		gpu.Driver = "vfio-pci"
		h.PCI(gpu.Function)
		group := fmt.Sprint("/sys/kernel/iommu_groups/", 40+i)
		h.Folder(group)
		h.Link(gpu.Folder()+"/iommu_group", group)
		h.Device(fmt.Sprint("/dev/vfio/", 40+i))
	}
	return addNVIDIA(h, nvidiaHost{Driver: "580.105.08", CUDA: "13.0", GPUs: gpus[:2]})
}

// noDriverHost has the tool installed, but no driver loaded.
func noDriverHost() *compose.Host {
	h, gpus := pcieHost("A host with 2 NVIDIA H100 80GB HBM3 and no driver loaded, though its tool is installed.", 0x35, h100SXM, 0x11, 0x91)
	for _, gpu := range gpus {
		gpu.Driver = ""
		h.PCI(gpu.Function)
	}
	h.Keep(h.AddCommand(host.CommandResult{ExitCode: 9, Stdout: []byte(
		"NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make sure that the latest NVIDIA driver is installed and running.\n\n",
	)}, "nvidia-smi", "-q", "-x"))
	return h
}
