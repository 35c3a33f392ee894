// Package tenstorrent finds Tenstorrent's cards.
package tenstorrent

import (
	"bytes"
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/detect/backend"
	"github.com/rankwright/rankwright/pkg/detect/host"
	"github.com/rankwright/rankwright/pkg/detect/pci"
	"github.com/rankwright/rankwright/pkg/detect/sysfs"
)

// Card finds Grayskull, Wormhole and Blackhole by their PCI ids. The PCI subsystem id, and tt_card_type in sysfs,
// say which card it is; serial number, firmware and sensors are files of tt-kmd, too. tt-smi adds whether the memory
// works.
//
// Of a Wormhole n300, which has two chips, only the left one is a PCI function: the right one is reached through it over
// Ethernet. The card is listed as its two chips, each with its half of the memory, with ids that end in -0 (left) and -1.
//
// Sources: docs/sysfs-attributes.md, telemetry.c and blackhole.c of tenstorrent/tt-kmd; pci.ids.
func Card() backend.Backend {
	return backend.NewOnPCI(tenstorrentKind, func(f pci.Function) bool { return f.VendorID == tenstorrentVendorID || f.Driver == tenstorrentDriver }, list)
}

const (
	tenstorrentVendorID = "1e52"
	tenstorrentDriver   = "tenstorrent"
)

var tenstorrentKind = backend.Kind{Backend: "tenstorrent", Vendor: "tenstorrent", Family: v1alpha1.FamilyASIC}

func list(ctx context.Context, h *host.Host, functions []pci.Function, found *backend.Found) {
	members, classErr := pci.MembersByAddress(h.Files, "tenstorrent", "")
	cards := make([]tenstorrentCard, len(functions))
	for i, function := range functions {
		cards[i] = readTenstorrent(h.Files, function, members[function.Address])
	}
	boards, toolErr := queryTTSMI(ctx, h, cards)
	found.Degrade(classErr, toolErr)
	for i := range cards {
		reading, signs := backend.ReadHwmon(h.Files, cards[i].Path)
		devices := cards[i].devices(h.Files, boards)
		for _, device := range devices {
			found.Add(device, reading, signs)
			reading = backend.Reading{} // of the whole card, told once
		}
		if len(devices) == 2 {
			found.Links.Pairs = append(found.Links.Pairs, v1alpha1.LinkPair{
				A: devices[0].ID, B: devices[1].ID, Kind: "Ethernet", Count: 2, MBps: n300InternalMBps,
			})
		}
	}
}

// n300InternalMBps is the rate between the chips of an n300: 200 Gb/s in each direction (Tenstorrent, specifications of
// the Wormhole cards: internal chip-to-chip).
const n300InternalMBps = 25_000

// tenstorrentChips are the architectures by PCI device id.
var tenstorrentChips = map[string]string{"faca": "Grayskull", "401e": "Wormhole", "b140": "Blackhole"}

// tenstorrentCards are the card types by PCI subsystem id, as tt-kmd names them.
var tenstorrentCards = map[string]string{
	"0003": "e150", "0007": "e75", "000a": "e300",
	"0014": "n300", "0018": "n150", "0035": "galaxy-wormhole",
	"0036": "p100", "0040": "p150a", "0041": "p150b", "0042": "p150c", "0043": "p100a",
	"0044": "p300b", "0045": "p300a", "0046": "p300c", "0047": "galaxy-blackhole",
}

// tenstorrentCard is a PCI function with what tt-kmd shows of it.
type tenstorrentCard struct {
	pci.Function
	// cardType is tt-kmd's word for it (`n300`); empty where neither ids nor driver say.
	cardType         string
	serial, firmware string
	asicID           string
	index            *int32
	paths            []string
}

// readTenstorrent takes what the ids tell, and what the driver shows in the class folder of the card's device, which is named as its
// node with an exclamation mark for the slash.
func readTenstorrent(files host.Files, function pci.Function, members []sysfs.Member) tenstorrentCard {
	card := tenstorrentCard{Function: function, paths: sysfs.NodePaths(members), index: sysfs.FirstNumber(members, "tenstorrent!")}
	if function.SubsystemVendorID == tenstorrentVendorID {
		card.cardType = tenstorrentCards[function.SubsystemDeviceID]
	}
	if len(members) == 0 {
		return card
	}
	own := path.Join("/sys/class/tenstorrent", members[0].Name)
	if cardType := host.Text(files, own, "tt_card_type"); cardType != "unknown" {
		card.cardType = cmp.Or(card.cardType, cardType)
	}
	card.serial, card.asicID = strings.ToLower(host.Text(files, own, "tt_serial")), host.Text(files, own, "tt_asic_id")
	card.firmware = host.Text(files, own, "tt_fw_bundle_ver")
	return card
}

// product is what the catalogue calls the card: cards that differ in cooling alone (p150a, p150b) are one product there.
func (c *tenstorrentCard) product() string {
	architecture := tenstorrentChips[c.DeviceID]
	cardType := strings.TrimPrefix(c.cardType, "galaxy-")
	switch {
	case cardType != c.cardType:
		return "Galaxy " + architecture
	case strings.HasPrefix(cardType, "p150"):
		cardType = "p150"
	}
	return strings.TrimSpace(architecture + " " + cardType)
}

// devices lists the card as its chips.
func (c *tenstorrentCard) devices(files host.Files, boards ttBoards) []v1alpha1.Device {
	device, _, _ := tenstorrentKind.Device(files, c.Function, c.product())
	device.Architecture = cmp.Or(device.Architecture, tenstorrentChips[c.DeviceID])
	device.UUID = cmp.Or(c.asicID, c.serial)
	device.FirmwareVersion, device.Index, device.Paths = c.firmware, c.index, c.paths
	if c.cardType != "n300" {
		device.Health = c.health(boards.local[c.Address])
		return []v1alpha1.Device{device}
	}
	chips := backend.Parts(device, 2, "asic")
	chips[1].UUID = ""
	chips[0].Health, chips[1].Health = c.health(boards.local[c.Address]), c.health(boards.remote[c.serial])
	return chips
}

// health says whether the chip can be opened; Unhealthy where tt-smi found that its memory failed its training.
func (c *tenstorrentCard) health(board *ttBoard) v1alpha1.DeviceHealth {
	seen := backend.DriverHealth(c.Driver, c.paths, "load tt-kmd (tenstorrent-dkms)")
	if board == nil || seen.State != v1alpha1.Healthy {
		return seen
	}
	switch board.Trained {
	case true:
		return backend.Healthy("tt-smi says that the memory of the chip works")
	case false:
		return backend.Unhealthy("MemoryFailed", "tt-smi says that the memory of the chip failed: reset it with tt-smi -r, see tt-smi -s")
	default:
		return seen
	}
}

// ttBoard is what the board_info of a chip in tt-smi's snapshot says.
type ttBoard struct {
	// BusID is `N/A` where the chip is behind another one; BoardType is the card's with L or R for the chip of an n300;
	// BoardID is the card's serial number.
	BusID     string `json:"bus_id"`
	BoardType string `json:"board_type"`
	BoardID   string `json:"board_id"`
	// Trained says whether the memory was; it is no boolean where the snapshot does not say (tt-smi 5.3 prints `N/A` for a p300c).
	Trained any `json:"dram_status"`
}

// ttBoards are chips on PCI by their address, and those behind another chip by the serial number of their card.
type ttBoards struct{ local, remote map[string]*ttBoard }

// queryTTSMI takes a snapshot. The tool is optional: it only adds to the health.
func queryTTSMI(ctx context.Context, h *host.Host, cards []tenstorrentCard) (ttBoards, error) {
	usable := slices.ContainsFunc(cards, func(c tenstorrentCard) bool { return len(c.paths) > 0 })
	if !usable {
		return ttBoards{}, nil
	}
	return host.Ask(ctx, h, "", parseTTSMI, host.TTSnapshot...)
}

// parseTTSMI reads a snapshot. Lines of progress may stand before the object.
func parseTTSMI(output []byte) (ttBoards, error) {
	boards := ttBoards{local: map[string]*ttBoard{}, remote: map[string]*ttBoard{}}
	var snapshot struct {
		Devices []struct {
			Board ttBoard `json:"board_info"`
		} `json:"device_info"`
	}
	start := max(bytes.IndexByte(output, '{'), 0)
	if err := host.DecodeJSON(bytes.TrimSpace(output[start:]), &snapshot); err != nil {
		return ttBoards{}, err
	}
	for _, device := range snapshot.Devices[:min(len(snapshot.Devices), backend.MaxDevices)] {
		board := &device.Board
		if address, ok := pci.ParseAddress(board.BusID); ok {
			boards.local[address] = board
		} else if strings.HasSuffix(board.BoardType, " R") && board.BoardID != "" {
			boards.remote[strings.ToLower(board.BoardID)] = board
		}
	}
	return boards, nil
}
