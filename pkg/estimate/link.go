package estimate

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/cost"
)

// Link is what the devices that share layers exchange data over.
type Link struct {
	Name string `json:"name"`
	// BytesPerSecond is what a device sends in one direction.
	BytesPerSecond int64 `json:"bytesPerSecond"`
}

// DefaultNetworkGbps is what a device sends beyond its node where nobody says: an adapter of 200 Gbit/s for each, as in
// DGX A100 and the nodes of Narayanan et al. (SC21).
const DefaultNetworkGbps = 200

// usualNode is how many devices a node has where nobody says.
const usualNode = 8

// devicesPerNode is how many devices the product's nodes have: four of a rack's 72, one on a board with its processor.
func devicesPerNode(p *accelerator.Product) int {
	switch {
	case rackDomain(p) > 0:
		return 4
	case strings.Contains(p.LinkTopology, "1 GPU/node"):
		return 1
	default:
		return usualNode
	}
}

// rackDomain is how many devices of a rack one set of switches joins; 0 where a node has its own.
func rackDomain(p *accelerator.Product) int {
	_, after, ok := strings.Cut(p.LinkTopology, "NVL")
	if !ok || !strings.Contains(p.Link, "rack") {
		return 0
	}
	digits, _, _ := strings.Cut(after, ":")
	n, err := strconv.Atoi(digits)
	if err != nil {
		return 0
	}
	return n
}

// reach is how many devices the product's own link joins: those of a rack, a bridged pair or quad, or a node. A link to
// the host's processor joins none.
func reach(p *accelerator.Product, perNode int) int {
	switch {
	case rackDomain(p) > 0:
		return max(perNode, rackDomain(p))
	case strings.Contains(p.Link, "(2/4-way)"):
		return min(4, perNode)
	case strings.Contains(p.Link, "(2-way)"):
		return min(2, perNode)
	case p.LinkMBps == 0 || strings.Contains(p.Link, "to Grace"):
		return 1
	default:
		return perNode
	}
}

// hostFallback is PCIe 4.0 x16, for products whose link to the host is not in the catalogue.
const hostFallback = "PCIe4x16"

// gigabytesPerLane are one direction of a lane by PCIe generation.
var gigabytesPerLane = map[string]float64{"3": 0.985, "4": 1.969, "5": 3.938, "6": 7.563}

// hostLink is the product's PCIe: its name and what it carries in one direction.
func hostLink(p *accelerator.Product) Link {
	name := p.HostLink
	rest, ok := strings.CutPrefix(name, "PCIe")
	if !ok || rest == "" || gigabytesPerLane[rest[:1]] == 0 {
		name, rest = hostFallback, strings.TrimPrefix(hostFallback, "PCIe")
	}
	lanes := 16.0
	if _, after, found := strings.Cut(rest, "x"); found {
		if n, err := strconv.Atoi(after); err == nil && n > 0 && n <= 16 {
			lanes = float64(n)
		}
	}
	return Link{Name: name, BytesPerSecond: int64(gigabytesPerLane[rest[:1]] * lanes * 1e9)}
}

// fabric is what the ranks of a stage are joined by, with the device of the model of costs that has it, and what is worth
// a warning.
func fabric(p *accelerator.Product, d Degrees, perNode int, networkBytes float64) (Link, cost.Device, []string) {
	device := cost.NewDevice(p)
	device.Network = networkBytes
	link := Link{Name: p.Link, BytesPerSecond: int64(device.Link)}
	var warnings []string
	group, own := d.group(), reach(p, perNode)
	switch {
	case group == 1 || group <= own:
		if group == 1 && link.BytesPerSecond == 0 {
			link = hostLink(p)
		}
	case group <= perNode:
		link = hostLink(p)
		if own > 1 {
			warnings = append(warnings, fmt.Sprintf("the %s joins %d devices: %d ranks share layers over %s", p.Link, own, group, link.Name))
		}
		device.HostLink = true
	default:
		link = Link{Name: "network", BytesPerSecond: int64(networkBytes)}
		warnings = append(warnings, fmt.Sprintf("%d ranks share layers and a node has %d devices: they do so over the network, at %.0f Gbit/s a device, which nothing was calibrated on",
			group, perNode, networkBytes*8/1e9))
		device.HostLink = true
	}
	device.Link = float64(link.BytesPerSecond)
	if total := d.Devices(); d.Pipeline > 1 && group <= max(own, perNode) && total > max(own, perNode) {
		warnings = append(warnings, fmt.Sprintf("%d devices are more than one node's %d: transfers between stages that cross nodes are counted over the %s", total, perNode, link.Name))
	}
	return link, device, warnings
}
