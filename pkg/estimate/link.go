package estimate

import (
	"fmt"

	"github.com/rankwright/rankwright/pkg/accelerator"
	"github.com/rankwright/rankwright/pkg/cost"
)

// Link is what the devices that share layers exchange data over.
type Link struct {
	Name string `json:"name"`
	// BytesPerSecond is what a device sends in one direction.
	BytesPerSecond int64 `json:"bytesPerSecond"`
}

// DefaultNetworkGbps is what a device sends beyond its node where no rate is given: an adapter of 200 Gbit/s for each
// device, as in DGX A100 and the nodes of Narayanan et al. (SC21).
const DefaultNetworkGbps = 200

// reach returns how many devices the product's own link joins: a rack, a bridged pair or quad, or a node. A link to the
// host's processor joins none.
func reach(p *accelerator.Product, perNode int) int {
	switch {
	case p.LinkMBps == 0 || p.DomainDevices == 1:
		return 1
	case p.Domain == accelerator.Racked:
		return max(perNode, p.DomainDevices)
	case p.Domain == accelerator.Bridged:
		return min(perNode, p.DomainDevices)
	default:
		return perNode
	}
}

// hostLink returns the product's PCIe with what it carries in one direction.
func hostLink(p *accelerator.Product) Link {
	name, mbps := p.Host()
	return Link{Name: name, BytesPerSecond: mbps * 1e6}
}

// fabric returns the link that joins the ranks of a stage, the device of the model of costs with that link, and warnings.
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
