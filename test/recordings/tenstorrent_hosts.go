package main

import (
	"encoding/json"
	"fmt"

	"github.com/rankwright/rankwright/test/recordings/compose"
)

func init() {
	recordings["tenstorrent-workstation"] = wormholeWorkstation
	recordings["tenstorrent-t3000"] = t3000Host
	recordings["tenstorrent-p150-2"] = blackholeHost
}

const tenstorrentSources = `
PCI and subsystem ids are those of pci.ids; class, files, sensors and their labels those of tt-kmd (docs/sysfs-attributes.md,
hwmon.c); fields of tt-smi's snapshot those that scripts around it read. Serial numbers, addresses and sensor values are
made up.`

// tenstorrentCard is a card as tt-kmd shows it.
type tenstorrentCard struct {
	place            string
	numa             int
	device, subsys   string
	cardType, serial string
	asic             string
	link             string
}

func wormholeWorkstation() *compose.Host {
	h := compose.New("A workstation with a Tenstorrent Wormhole n150 and an n300; tt-smi is not installed.\n" + tenstorrentSources)
	h.Machine(server(1, processor{"AMD Ryzen Threadripper PRO 7955WX 16-Cores", 16, 2}, 256, ubuntu("22.04.5", "6.8.0-60"), "Supermicro", "SYS-5014A-TT"))
	addTenstorrent(h, []tenstorrentCard{
		{"pci0000:40/0000:40:01.1/0000:41:00.0", 0, "401e", "0018", "n150", "010001851172801A", "", "16.0 GT/s PCIe x16"},
		{"pci0000:c0/0000:c0:01.1/0000:c1:00.0", 0, "401e", "0014", "n300", "0100014511732021", "", "16.0 GT/s PCIe x16"},
	})
	return h
}

// t3000Host is a TT-LoudBox: the cards' Ethernet links to each other are not visible on the host.
func t3000Host() *compose.Host {
	h := compose.New("A Tenstorrent TT-LoudBox (T3000): 4 Wormhole n300 with two chips each.\n" + tenstorrentSources)
	h.Machine(server(2, processor{"Intel(R) Xeon(R) Silver 4309Y CPU @ 2.80GHz", 8, 2}, 512, ubuntu("22.04.5", "5.15.0-119"), "Supermicro", "SYS-740GP-TNRT"))
	var cards []tenstorrentCard
	for i, bus := range []int{0x17, 0x31, 0xb1, 0xca} {
		cards = append(cards, tenstorrentCard{
			fmt.Sprintf("pci0000:%02x/0000:%02x:02.0/0000:%02x:00.0", bus-1, bus-1, bus), i / 2, "401e", "0014", "n300", fmt.Sprintf("010001451173%04X", 0x2021+i), "", "16.0 GT/s PCIe x16",
		})
	}
	addTenstorrent(h, cards)
	addTTSMI(h, cards)
	return h
}

func blackholeHost() *compose.Host {
	h := compose.New("A host with 2 Tenstorrent Blackhole p150, one with active and one with passive cooling.\n" + tenstorrentSources)
	h.Machine(server(1, processor{"AMD EPYC 8124P 16-Core Processor", 16, 2}, 512, ubuntu("24.04.2", "6.8.0-60"), "Tenstorrent", "TT-QuietBox"))
	addTenstorrent(h, []tenstorrentCard{
		{"pci0000:00/0000:00:01.1/0000:01:00.0", 0, "b140", "0040", "p150a", "0000040511832041", "5A1B2C3D4E5F6071", "32.0 GT/s PCIe x16"},
		{"pci0000:80/0000:80:01.1/0000:81:00.0", 0, "b140", "0041", "p150b", "0000041511832042", "5A1B2C3D4E5F6072", "32.0 GT/s PCIe x16"},
	})
	return h
}

func addTenstorrent(h *compose.Host, cards []tenstorrentCard) {
	h.File("/sys/module/tenstorrent/version", "2.3.0")
	for i, card := range cards {
		f := compose.Function{
			Place: card.place, IDs: "1e52:" + card.device + " 1e52:" + card.subsys, Class: "120000", Revision: "01", Driver: "tenstorrent", NUMA: card.numa, Link: card.link,
		}
		h.PCI(f)
		files := map[string]string{"tt_card_type": card.cardType, "tt_serial": card.serial, "tt_fw_bundle_ver": "18.7.0.0", "tt_aiclk": "500", "tt_heartbeat": "1000"}
		if card.asic != "" {
			files["tt_asic_id"] = card.asic
		}
		addClassDevice(h, f.Folder(), "tenstorrent", fmt.Sprint("tenstorrent!", i), fmt.Sprint("tenstorrent/", i), files)
		h.Files(fmt.Sprint(f.Folder(), "/hwmon/hwmon", 2+i), map[string]string{
			"name": "tenstorrent", "temp1_input": fmt.Sprint(41250 + 1000*i), "power1_input": fmt.Sprint((12 + i) * 1000000),
		})
	}
}

// addTTSMI adds a snapshot: each card's left chip by its address, then its right chip.
func addTTSMI(h *compose.Host, cards []tenstorrentCard) {
	type object = map[string]any
	var devices []object
	for _, right := range []bool{false, true} {
		for _, card := range cards {
			board := object{"bus_id": compose.Function{Place: card.place}.Address(), "board_type": "n300 L", "board_id": card.serial, "coords": "(0, 0, 0, 0)", "dram_status": true, "dram_speed": "12G"}
			if right {
				board["bus_id"], board["board_type"], board["coords"] = "N/A", "n300 R", "(1, 0, 0, 0)"
			}
			devices = append(devices, object{"board_info": board, "telemetry": object{"asic_temperature": "41.2", "power": " 12.0"}})
		}
	}
	text, err := json.Marshal(object{"time": "2026-01-01T00:00:00", "device_info": devices})
	h.Keep(err)
	h.Command(string(text), "tt-smi", "-s", "--snapshot_no_tty")
}
