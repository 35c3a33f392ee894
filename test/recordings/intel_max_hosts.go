package main

import (
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

func init() {
	recordings["intel-max1550-4"] = func() *compose.Host { return maxHost([]int{0x1a, 0x5a, 0x9a, 0xda}, 8) }
	recordings["intel-max1550-8"] = func() *compose.Host {
		return maxHost([]int{0x1a, 0x3a, 0x4a, 0x5a, 0x9a, 0xba, 0xca, 0xda}, 4)
	}
}

const maxSources = `
All cards reach each other by Xe Link: each tile has eight ports of four lanes, which are divided evenly among the other
cards of the board. The form of xpu-smi's matrix is that of its user guide, whose example has two cards; how many lanes a
board of four or eight joins each two tiles with is derived from the ports, not read from a machine.`

// maxHost has Data Center GPU Max 1550 on PCIe, half of them to a socket, each tile joined to one of every other card.
func maxHost(buses []int, lanes int) *compose.Host {
	h := compose.New(fmt.Sprintf("A server with %d Data Center GPU Max 1550 joined by Xe Link, and two sockets.\n", len(buses)) + intelSources + "\n" + maxSources)
	h.Machine(server(2, processor{"Intel(R) Xeon(R) Platinum 8480+", 56, 2}, 1024, ubuntu("22.04.5", "5.15.0-151"), "Supermicro", "SYS-421GE-TNRT3"))
	var addresses []string
	for i, bus := range buses {
		numa := i * 2 / len(buses)
		files := intelMonitor("i915", i+3, 33_000+500*i)
		files["sriov_totalvfs"] = "63"
		card := compose.Function{
			IDs: "8086:0bd5 8086:0000", Class: "038000", Revision: "2f", Driver: "i915", NUMA: numa, Link: "32.0 GT/s PCIe x16",
			Extra: files,
		}
		port := fmt.Sprintf("pci0000:%02x/0000:%02x:01.0", bus-1, bus-1)
		card.Place = fmt.Sprintf("%s/0000:%02x:00.0", port, bus)
		h.PCI(compose.Bridge(port, "8086:352a 8086:0000", card.Link, numa), card)
		addDRM(h, card.Folder(), fmt.Sprint("card", i), fmt.Sprint("renderD", 128+i))
		addresses = append(addresses, card.Address())
	}
	h.Command(xpuAnswer("Intel(R) Data Center GPU Max 1550", "PVC2_1.23374", "131072.00 MiB", 0x0bd5, addresses...), "xpu-smi", "discovery", "--dump", xpuDump)
	h.Command(xeMatrix(len(buses), lanes), "xpu-smi", "topology", "-m")
	return h
}

// xeMatrix prints the relation of each two tiles: a tile is joined to the other tile of every other card.
func xeMatrix(cards, lanes int) string {
	var text strings.Builder
	text.WriteString("\n         ")
	for column := range 2 * cards {
		fmt.Fprintf(&text, "GPU %d/%d|", column/2, column%2)
	}
	text.WriteString("CPU Affinity\n")
	for row := range 2 * cards {
		fmt.Fprintf(&text, "GPU %d/%d |", row/2, row%2)
		for column := range 2 * cards {
			cell := fmt.Sprint("XL", lanes)
			switch {
			case row == column:
				cell = "S"
			case row/2 == column/2:
				cell = "MDF"
			case row%2 == column%2:
				cell = "XL*"
			}
			fmt.Fprintf(&text, "%-7s|", cell)
		}
		text.WriteString([]string{"0-55,112-167\n", "56-111,168-223\n"}[row/cards])
	}
	return text.String()
}
