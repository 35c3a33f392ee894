package main

import (
	"fmt"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

func init() {
	recordings["graphcore-c2-16"] = graphcoreC2Host
	recordings["graphcore-c200-4"] = graphcoreC200Host
	recordings["groq-node-8"] = groqHost
}

const graphcoreSources = `
PCI ids are those of public notes on the cards (0001 for the C2, 0003 for the C200); addresses of the C2 host are those that
gc-info lists in the documentation of Poplar's tools. The class and the names of the nodes, bridges and subsystem ids are
made up: no public source shows them.`

// graphcoreC2Host is a Dell DSS 8440 with 8 cards of two IPUs.
func graphcoreC2Host() *compose.Host {
	h := compose.New("A host with 16 Graphcore GC2 IPUs on 8 C2 cards (Dell DSS 8440).\n" + graphcoreSources)
	h.Machine(server(2, processor{"Intel(R) Xeon(R) Platinum 8168 CPU @ 2.70GHz", 24, 2}, 768, ubuntu("18.04.6", "5.4.0-150"), "Dell Inc.", "DSS 8440"))
	for i, bus := range []int{0x1a, 0x1b, 0x23, 0x24, 0x3d, 0x3e, 0x43, 0x44, 0x8b, 0x8c, 0x8e, 0x8f, 0xb8, 0xb9, 0xba, 0xbb} {
		addProcessor(h, compose.Function{
			Place: fmt.Sprintf("pci0000:%02x/0000:%02x:00.0/0000:%02x:00.0", bus&^3-8, bus&^3-8, bus), IDs: "1d95:0001 1d95:0001", Class: "120000", Revision: "00",
			Driver: "ipu_driver", NUMA: i / 8, Link: "8.0 GT/s PCIe x16",
		}, "ipu", fmt.Sprint("ipu", i))
	}
	return h
}

// graphcoreC200Host has two cards at a NUMA node each; the driver is not loaded.
func graphcoreC200Host() *compose.Host {
	h := compose.New("A host with 4 Graphcore GC200 IPUs on 2 C200 cards, whose driver is not loaded.\n" + graphcoreSources)
	h.Machine(userNode)
	for i, bus := range []int{0x4e, 0x4f, 0x89, 0x8a} {
		h.PCI(compose.Function{
			Place: fmt.Sprintf("pci0000:%02x/0000:%02x:00.0", 0x40+0x40*(i/2), bus), IDs: "1d95:0003 1d95:0003", Class: "120000", Revision: "00", NUMA: i / 2, Link: "16.0 GT/s PCIe x8",
		})
	}
	return h
}

// groqHost is a GroqNode.
func groqHost() *compose.Host {
	h := compose.New(`
A GroqNode with 8 GroqCards.

PCI and subsystem ids are those of pci.ids, names of nodes those of users' notes. Driver, class and addresses are made up:
no public source shows them.`)
	h.Machine(server(2, processor{"AMD EPYC 7413 24-Core Processor", 24, 2}, 1024, ubuntu("22.04.5", "5.15.0-119"), "Groq", "GroqNode"))
	for i, bus := range []int{0x01, 0x21, 0x41, 0x61, 0x81, 0xa1, 0xc1, 0xe1} {
		addProcessor(h, compose.Function{
			Place: fmt.Sprintf("pci0000:%02x/0000:%02x:01.1/0000:%02x:00.0", bus-1, bus-1, bus), IDs: "1de0:0000 1de0:c005", Class: "120000", Revision: "01",
			Driver: "groq", NUMA: i / 4, Link: "16.0 GT/s PCIe x16",
		}, "groq", fmt.Sprintf("groqA%d.pci", i))
	}
	return h
}

// addProcessor adds a function with a node of its own.
func addProcessor(h *compose.Host, f compose.Function, class, node string) {
	h.PCI(f)
	addClassDevice(h, f.Folder(), class, node, node, nil)
}
