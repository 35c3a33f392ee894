package main

import (
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

func init() {
	recordings["qualcomm-ai100-standard-8"] = ai100StandardHost
	recordings["qualcomm-ai100-ultra-4"] = ai100UltraHost
	recordings["qualcomm-ai100-ultra-no-tools"] = ai100QuietHost
}

const qaicSources = `
PCI ids, driver and device nodes are those of drivers/accel/qaic of Linux; kinds of card, SoCs to a card and memory those of
the vendor's documentation (quic/cloud-ai-sdk-pages); the text of qaic-util -q is what QUtil.cpp and qaic-util of
quic/software-kit-for-qualcomm-cloud-ai-100 print, with numbers from outputs that users published. Addresses, serial
numbers and the tree of bridges are made up, as are the ids of the switch on the card.`

// qaicSoC is a SoC as qaic-util reports it.
type qaicSoC struct {
	compose.Function
	SKU, BoardSerial    string
	TotalMiB, FreeMiB   int
	Celsius, BoardWatts float64
}

// addQaic adds SoCs to the bus, their nodes of the accel class, and what qaic-util prints where it is installed.
func addQaic(h *compose.Host, tool bool, socs []qaicSoC) {
	text := &strings.Builder{}
	fmt.Fprintf(text, "LRT QC_IMAGE_VERSION: LRT.AIC.REL.1.19.6\nLRT IMAGE_VARIANT: LRT.AIC.REL\nNumber of devices: %d\n", len(socs))
	for i, soc := range socs {
		soc.IDs, soc.Class, soc.Revision, soc.Driver, soc.Link = "17cb:a100 17cb:a100", "120000", "00", "qaic", "16.0 GT/s PCIe x8"
		h.PCI(soc.Function)
		addAccel(h, soc.Folder(), i)
		soc.print(text, i)
	}
	h.AllowCommands()
	if tool {
		h.Command(text.String(), "qaic-util", "-q")
	}
}

func (s qaicSoC) print(text *strings.Builder, qid int) {
	fmt.Fprintf(text, "QID %d\n\tStatus:Ready\n\tPCI Address:%s\n\tPCI Info:Processing accelerators Qualcomm Device a100\n", qid, s.Address())
	fmt.Fprintf(text, "\tMax Link Speed:16GT/s\n\tMax Link Width:x8\n\tCurrent Link Speed:16GT/s\n\tCurrent Link Width:x8\n\tDev Link:/dev/accel/accel%d \n", qid)
	fmt.Fprintf(text, "\tHW Version:0.2.0.0\n\tHW Serial:0xc0ffee%02x\n\tFW Version:1.19.6\n\tFW QC_IMAGE_VERSION:QSM.AIC.1.19.6\n", qid)
	fmt.Fprintf(text, "\tFW OEM_IMAGE_VERSION:\n\tFW IMAGE_VARIANT:AIC100.REL\n\tNSP Version:1.19.6\n\tNSP IMAGE_VARIANT:aic100.nsp.prodQ\n")
	fmt.Fprintf(text, "\tDram Total:%d MB\n\tDram Free:%d MB\n\tDram Fragmentation:0.00%%\n\tVc Total:16\n\tVc Free:16\n", s.TotalMiB, s.FreeMiB)
	fmt.Fprintf(text, "\tNsp Total:16\n\tNsp Free:16\n\tNSP Frequency(Mhz):595.20\n\tSBL Image:SBL.AIC.1.19.6\n\tSku Type:%s\n\n", s.SKU)
	fmt.Fprintf(text, "\tBoard serial:%s\n\tSoC temperature(degree C):%.2f\n\tBoard power(Watts):%.2f\n\tTDP Cap(Watts):75.00\n", s.BoardSerial, s.Celsius, s.BoardWatts)
}

func ai100Machine(product string) compose.Machine {
	return server(2, processor{"AMD EPYC 7713 64-Core Processor", 64, 2}, 1024, ubuntu("24.04.2", "6.8.0-60"), "GIGABYTE", product)
}

// ai100StandardHost has 8 cards, 4 to a switch of the server, which is no card of 4 SoCs.
func ai100StandardHost() *compose.Host {
	h := compose.New("A server with 8 Qualcomm Cloud AI 100 Standard, 4 behind each of 2 PCIe switches, one of them in use.\n" + qaicSources)
	h.Machine(ai100Machine("R282-Z93-00"))
	var socs []qaicSoC
	for i := range 8 {
		root, card := 0x20+i/4*0x80, i%4
		port := fmt.Sprintf("pci0000:%02x/0000:%02x:01.1", root, root)
		upstream := fmt.Sprintf("%s/0000:%02x:00.0", port, root+1)
		downstream := fmt.Sprintf("%s/0000:%02x:%02x.0", upstream, root+2, card*4)
		if card == 0 {
			h.PCI(compose.Bridge(port, "1022:1483 1022:1453", "16.0 GT/s PCIe x16", i/4), compose.Bridge(upstream, "10b5:9797 10b5:9797", "8.0 GT/s PCIe x16", i/4))
		}
		h.PCI(compose.Bridge(downstream, "10b5:9797 10b5:9797", "8.0 GT/s PCIe x8", i/4))
		soc := qaicSoC{
			Function: compose.Function{Place: fmt.Sprintf("%s/0000:%02x:00.0", downstream, root+3+card), NUMA: i / 4},
			SKU:      "PCIe", BoardSerial: fmt.Sprintf("QC1000%04d", i), TotalMiB: 16308, FreeMiB: 16308, Celsius: 41, BoardWatts: 18.5,
		}
		if i == 2 {
			soc.FreeMiB, soc.Celsius, soc.BoardWatts = 4020, 63.25, 61.5
		}
		socs = append(socs, soc)
	}
	addQaic(h, true, socs)
	return h
}

// ai100UltraHost has 4 cards of 4 SoCs.
func ai100UltraHost() *compose.Host {
	h := compose.New("A server with 4 Qualcomm Cloud AI 100 Ultra, each of them 4 SoCs behind a switch of its own.\n" + qaicSources)
	h.Machine(ai100Machine("G292-Z43-00"))
	addQaic(h, true, ultraCards(h, 4))
	return h
}

// ai100QuietHost has a card of 4 SoCs, and nothing that says its name.
func ai100QuietHost() *compose.Host {
	h := compose.New("A server with one Qualcomm Cloud AI 100 Ultra and without the vendor's SDK.\n" + qaicSources)
	h.Machine(ai100Machine("R282-Z93-00"))
	addQaic(h, false, ultraCards(h, 1))
	return h
}

func ultraCards(h *compose.Host, cards int) []qaicSoC {
	var socs []qaicSoC
	for card := range cards {
		root, numa := 0x20+card*0x40, card/2
		port := fmt.Sprintf("pci0000:%02x/0000:%02x:01.1", root, root)
		upstream := fmt.Sprintf("%s/0000:%02x:00.0", port, root+1)
		h.PCI(compose.Bridge(port, "1022:1483 1022:1453", "16.0 GT/s PCIe x16", numa), compose.Bridge(upstream, "11f8:4000 11f8:4000", "16.0 GT/s PCIe x16", numa))
		for i := range 4 {
			downstream := fmt.Sprintf("%s/0000:%02x:%02x.0", upstream, root+2, i)
			h.PCI(compose.Bridge(downstream, "11f8:4000 11f8:4000", "16.0 GT/s PCIe x8", numa))
			socs = append(socs, qaicSoC{
				Function: compose.Function{Place: fmt.Sprintf("%s/0000:%02x:00.0", downstream, root+3+i), NUMA: numa},
				SKU:      "PCIe Ultra", BoardSerial: fmt.Sprintf("QC2000%04d", card), TotalMiB: 32692, FreeMiB: 32692, Celsius: 38.5, BoardWatts: 41.25,
			})
		}
	}
	return socs
}
