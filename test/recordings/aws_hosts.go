package main

import (
	"fmt"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

func init() {
	recordings["aws-inf1-6xlarge"] = inf1Host
	recordings["aws-inf2-48xlarge"] = inf2Host
	recordings["aws-trn1-2xlarge"] = trn1SmallHost
	recordings["aws-trn1-32xlarge"] = trn1Host
	recordings["aws-trn2-48xlarge"] = func() *compose.Host { return trn2Host(true) }
	recordings["aws-trn2-48xlarge-no-tools"] = func() *compose.Host { return trn2Host(false) }
	recordings["aws-trn2u-48xlarge"] = trn2UltraHost
	recordings["aws-trn3-3xlarge"] = trn3Host
}

const neuronSources = `
PCI ids, the driver's name, its files in sysfs and which chips are linked are those of aws-neuron-driver (neuron_device.h,
neuron_pci.c, neuron_cdev.c, neuron_sysfs_metrics.c, v2/neuron_dhal_v2.c, v3/neuron_dhal_v3.c); the PCI class is that of
published outputs of lspci; the form of neuron-ls -j is that of its user guide and of outputs that users published.
Processors and memory are those of the instance type's documentation. Serial numbers are made up.`

// instance is the machine of an EC2 instance on Nitro.
func instance(h *compose.Host, kind, model, vendor string, sockets, cores, memoryGiB int) {
	h.Machine(compose.Machine{
		Model: model, VendorID: vendor, Sockets: sockets, CoresPerSocket: cores / sockets, ThreadsPerCore: 2, MemoryGiB: memoryGiB,
		Kernel: "6.1.141-155.222.amzn2023.x86_64", OS: "Amazon Linux 2023.8.20250715",
		DMI: map[string]string{"sys_vendor": "Amazon EC2", "bios_vendor": "Amazon EC2", "product_name": kind},
	})
	h.PCI(compose.Function{
		Place: "pci0000:00/0000:00:04.0", IDs: "1d0f:8061 1d0f:0000", Class: "010802", Revision: "00", Driver: "nvme",
	})
}

// inf1Host has 4 chips in a chain. The driver numbers chips of this kind as it finds them.
func inf1Host() *compose.Host {
	h := compose.New("An EC2 instance inf1.6xlarge with 4 chips of AWS Inferentia in a chain.\n" + neuronSources +
		" PCI addresses are made up but for the first.")
	instance(h, "inf1.6xlarge", "Intel(R) Xeon(R) Platinum 8275CL CPU @ 3.00GHz", "GenuineIntel", 1, 12, 48)
	n := neuronHost{
		DeviceID: "7064", Arch: "v1", Name: "Inferentia", Family: "Inf1", Cores: 4, MemoryBytes: 8 << 30, Driver: "2.16.7.0", Tool: true,
	}
	for i, connected := range [][]int{{1}, {2, 0}, {3, 1}, {2}} {
		n.Chips = append(n.Chips, neuronChip{Address: fmt.Sprintf("0000:00:%02x.0", 0x1c+i), Connected: connected})
	}
	addNeuron(h, n)
	return h
}

// inf2Host has 12 chips in a ring.
func inf2Host() *compose.Host {
	h := compose.New("An EC2 instance inf2.48xlarge with 12 chips of AWS Inferentia2 in a ring.\n" + neuronSources + " PCI addresses are made up.")
	instance(h, "inf2.48xlarge", "AMD EPYC 7R13 Processor", "AuthenticAMD", 2, 96, 384)
	n := neuronHost{
		DeviceID: "7264", Arch: "v3", Name: "Inferentia2", Family: "Inf2", Cores: 2, MemoryBytes: 32 << 30, Driver: "2.26.5.0", Tool: true,
	}
	for i := range 12 {
		n.Chips = append(n.Chips, neuronChip{
			Address: fmt.Sprintf("0000:%02x:%02x.0", []int{0x20, 0x30, 0xa0, 0xb0}[i/3], 0x1d+i%3), NUMA: i / 6,
			Connected: []int{(i + 11) % 12, (i + 1) % 12},
		})
	}
	addNeuron(h, n)
	return h
}

// trn1SmallHost has one chip, so that there is no doubt which node it has.
func trn1SmallHost() *compose.Host {
	h := compose.New("An EC2 instance trn1.2xlarge with one AWS Trainium.\n" + neuronSources +
		" What neuron-ls prints, the PCI address and the driver's version are those that users published of such an instance.")
	instance(h, "trn1.2xlarge", "Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz", "GenuineIntel", 1, 4, 32)
	addNeuron(h, neuronHost{
		DeviceID: "7164", Arch: "v2", Name: "Trainium1", Family: "Trn1", Cores: 2, MemoryBytes: 34359738368, Driver: "2.26.5.0", Tool: true,
		Chips: []neuronChip{{Address: "0000:00:1e.0", NUMA: -1}},
	})
	return h
}

// trn1Host has 16 chips in a torus.
func trn1Host() *compose.Host {
	h := compose.New("An EC2 instance trn1.32xlarge with 16 chips of AWS Trainium in a torus of 4 by 4, all in use.\n" +
		neuronSources + " PCI addresses are made up.")
	instance(h, "trn1.32xlarge", "Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz", "GenuineIntel", 2, 64, 512)
	n := neuronHost{
		DeviceID: "7164", Arch: "v2", Name: "Trainium1", Family: "Trn1", Cores: 2, MemoryBytes: 32 << 30, Driver: "2.26.5.0", Tool: true,
		Used: 11 << 30,
	}
	for i := range 16 {
		n.Chips = append(n.Chips, neuronChip{
			Address: fmt.Sprintf("0000:%02x:%02x.0", []int{0x10, 0x20, 0x90, 0xa0}[i%4], 0x1b+i/4), NUMA: i % 4 / 2, Connected: torus(i),
		})
	}
	addNeuron(h, n)
	return h
}

// torus returns the neighbours of a chip in a torus of 4 by 4, as the driver lists them for Trainium.
func torus(i int) []int {
	row, column := i/4, i%4
	at := func(row, column int) int { return (row+4)%4*4 + (column+4)%4 }
	return []int{at(row-1, column), at(row, column-1), at(row+1, column), at(row, column+1)}
}

// trn2Buses are the buses of a trn2's chips, in the order of the driver's numbers.
var trn2Buses = []int{0xcc, 0xb5, 0xb6, 0xcb, 0x6f, 0x58, 0x59, 0x6e, 0x9b, 0x84, 0x85, 0x9a, 0xf8, 0xe1, 0xe2, 0xf7}

func trn2Chips() []neuronChip {
	var chips []neuronChip
	for i, bus := range trn2Buses {
		chip := neuronChip{Address: fmt.Sprintf("0000:%02x:00.0", bus), Connected: torus(i)}
		if i < 4 || i >= 12 {
			chip.NUMA = 1
		}
		chips = append(chips, chip)
	}
	return chips
}

// trn2Host has 16 chips in a torus, with or without the vendor's tools.
func trn2Host(tool bool) *compose.Host {
	title := "An EC2 instance trn2.48xlarge with 16 chips of AWS Trainium2 in a torus of 4 by 4, neuron-ls installed.\n"
	if !tool {
		title = "An EC2 instance trn2.48xlarge with 16 chips of AWS Trainium2 in a torus of 4 by 4, without neuron-ls.\n"
	}
	h := compose.New(title + neuronSources + " PCI addresses, NUMA nodes and neighbours are those of the user guide's example.")
	instance(h, "trn2.48xlarge", "Intel(R) Xeon(R) Platinum 8488C", "GenuineIntel", 2, 96, 2048)
	addNeuron(h, neuronHost{
		DeviceID: "7364", Arch: "v3", Name: "Trainium2", Family: "Trn2", Cores: 8, Grouping: 2, MemoryBytes: 103079215104,
		Driver: "2.26.5.0", Tool: tool, Chips: trn2Chips(),
	})
	return h
}

// trn2UltraHost is one of the four instances of an UltraServer.
func trn2UltraHost() *compose.Host {
	h := compose.New("One of the 4 EC2 instances trn2u.48xlarge of a Trn2 UltraServer: 16 chips of AWS Trainium2 in a torus of 4 by 4 and " +
		"links to the other instances.\n" + neuronSources + " The server's id is made up.")
	instance(h, "trn2u.48xlarge", "Intel(R) Xeon(R) Platinum 8488C", "GenuineIntel", 2, 96, 2048)
	h.Files("/sys/class/neuron_device", map[string]string{
		"node_id_2": "0", "node_id_4": "2", "server_id_2": "00000000c0ffee02", "server_id_4": "00000000c0ffee04", "ultraserver_mode": "4,2H,2V,1",
	})
	n := neuronHost{
		DeviceID: "7364", Arch: "v3", Name: "Trainium2", Family: "Trn2", Cores: 8, Grouping: 2, MemoryBytes: 103079215104, Tool: true,
		Driver: "2.26.5.0", Chips: trn2Chips(), InServer: true,
	}
	addNeuron(h, n)
	return h
}

// trn3Host has one chip.
func trn3Host() *compose.Host {
	h := compose.New("An EC2 instance trn3pd98.3xlarge with one AWS Trainium3.\n" + neuronSources +
		" That the chip has 8 cores, neuron-ls 4 ids and 154618822656 bytes is what a user published of such an instance; the rest of the " +
		"machine is made up.")
	instance(h, "trn3pd98.3xlarge", "Intel(R) Xeon(R) Platinum 8488C", "GenuineIntel", 1, 6, 128)
	addNeuron(h, neuronHost{
		DeviceID: "7564", Arch: "v4", Name: "Trainium3", Family: "Trn3", Cores: 8, Grouping: 2, MemoryBytes: 154618822656,
		Driver: "2.27.4.0", Tool: true, Chips: []neuronChip{{Address: "0000:33:00.0"}},
	})
	return h
}
