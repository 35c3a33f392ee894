package main

import (
	"fmt"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

func init() { recordings["amd-radeon-desktop"] = radeonHost }

const radeonReadme = `
A desktop with an AMD Radeon RX 7900 XTX, its audio function, and the graphics of its Ryzen processor, which use the host's
memory.

PCI ids, VBIOS, memory and amdgpu's files of the card are those of a published capture (ilya-zlobintsev/LACT,
tests/snapshots, MIT); the processor's graphics have the id and the 512 MiB that published reports of the processor show.
Both have a KFD node, as Linux makes. Unique id, gpu_ids and the tree of bridges are made up.`

func radeonHost() *compose.Host {
	h := compose.New(radeonReadme)
	h.Machine(server(1, ryzen7950X, 64, system{"6.14.0-24-generic", "Ubuntu 25.04"}, "ASUS", "System Product Name"))
	card := amdGPU{
		Function: compose.Function{
			Place: "pci0000:00/0000:00:01.1/0000:01:00.0/0000:02:00.0/0000:03:00.0", IDs: "1002:744c 1da2:e471",
			Class: "030000", Revision: "c8", Driver: "amdgpu", NUMA: -1, Link: gen4x16,
		},
		VBIOS: "113-D70401XT-N11", UniqueID: 0xc07900c07900c079, Bytes: 25753026560, UsedMiB: 1500, Card: 1, Render: 128,
		GFX: 110000, SIMDs: 192, Dies: 1, Width: 384, Clock: 1249,
	}
	graphics := amdGPU{
		Function: compose.Function{
			Place: "pci0000:00/0000:00:08.1/0000:6b:00.0", IDs: "1002:164e 1043:8877", Class: "030000", Revision: "c1",
			Driver: "amdgpu", NUMA: -1, Link: gen4x16,
		},
		VBIOS: "102-RAPHAEL-008", Bytes: 512 << 20, UsedMiB: 40, Card: 0, Render: 129,
		GFX: 100306, SIMDs: 4, Dies: 1, Width: 128, Clock: 2400,
	}
	seen := map[string]bool{}
	addBridges(h, seen, card.Function, "1002:1478 1002:1478")
	addBridges(h, seen, graphics.Function, "1022:14dd 1022:1453")
	h.PCI(compose.Function{
		Place: "pci0000:00/0000:00:01.1/0000:01:00.0/0000:02:00.0/0000:03:00.1", IDs: "1002:ab30 1002:ab30", Class: "040300", Revision: "00",
		Driver: "snd_hda_intel", NUMA: -1, Link: gen4x16,
	})
	addAMD(h, amdHost{Sockets: 1, CPUCores: 32, CPULink: overPCIe4, GPUs: []amdGPU{card, graphics}})
	h.Link(fmt.Sprint("/sys/class/drm/card", card.Card, "-DP-1"), "../../devices/"+card.Place+"/drm/card1/card1-DP-1")
	return h
}
