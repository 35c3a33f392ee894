package intel

import (
	"cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// gaudiBoard is a baseboard on which every two cards are joined by as many ports.
type gaudiBoard struct {
	// deviceID is that of the cards for such a board; cards for PCIe slots are not joined so.
	deviceID string
	// portMBps is what a port carries in one direction.
	portMBps int64
}

const (
	gaudiBoardCards   = 8
	gaudiPortsPerPeer = 3
)

// gaudiBoards: 21 of a card's 24 ports lead to the seven others of its board, three to each. Ports have 100 Gb/s on
// Gaudi2 and 200 Gb/s on Gaudi3. Source: Intel Gaudi documentation, Network Configuration (Gaudi3: 525 GB/s a card in one
// direction), and for Gaudi2 the catalogue.
var gaudiBoards = []gaudiBoard{
	{"1020", 12_500},
	{"1060", 25_000},
}

// gaudiLinks joins the cards of a board where all of them are there, each in another module.
func gaudiLinks(cards []gaudiCard) v1alpha1.Links {
	var links v1alpha1.Links
	for _, board := range gaudiBoards {
		var members []v1alpha1.DeviceID
		modules := map[string]bool{}
		first := ""
		for _, card := range cards {
			module := cmp.Or(card.module, card.smi.module)
			if card.DeviceID != board.deviceID || module == "" {
				continue
			}
			modules[module] = true
			members = append(members, v1alpha1.DeviceID(gaudiKind.Vendor+"-"+card.Address))
			if first == "" {
				first = card.Address
			}
		}
		if len(members) != gaudiBoardCards || len(modules) != gaudiBoardCards {
			continue
		}
		peer := board.portMBps * gaudiPortsPerPeer
		links.Domains = append(links.Domains, v1alpha1.LinkDomain{
			Name: "roce-" + first, Kind: "RoCE", Topology: v1alpha1.TopologyMesh, Members: members,
			PeerMBps: peer, DeviceMBps: peer * (gaudiBoardCards - 1),
		})
	}
	return links
}
