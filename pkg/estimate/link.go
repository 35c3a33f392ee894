package estimate

import (
	"fmt"

	"github.com/rankwright/rankwright/internal/words"
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

// fabric finds the link that joins the ranks of a stage, the rates of the device over that link, and the devices that exchange
// data without the network.
func (p *place) fabric() {
	of, group, own := &p.Product, p.Degrees.group(), reach(&p.Product, p.DevicesPerNode)
	p.device = cost.NewDevice(of)
	p.device.Network = p.NetworkGbps / 8 * 1e9
	p.island = max(own, p.DevicesPerNode)
	p.link = Link{Name: of.Link, BytesPerSecond: int64(p.device.Link)}
	if p.inside = p.Degrees.AttentionData; p.Degrees.Tensor <= p.island && group > p.island {
		if p.inside = p.island / p.Degrees.Tensor; p.Degrees.AttentionData%p.inside != 0 {
			p.inside = 1
		}
		group = p.inside * p.Degrees.Tensor
		p.warn("%d ranks share experts and a node has %s: they exchange tokens over the network, at %.0f Gbit/s a device, which nothing was calibrated on",
			p.Degrees.group(), words.Counted(p.DevicesPerNode, "device"), p.NetworkGbps)
	}
	switch {
	case group == 1 || group <= own:
		if group == 1 && p.link.BytesPerSecond == 0 {
			p.link = hostLink(of)
		}
	case group <= p.DevicesPerNode:
		p.link, p.device.HostLink = hostLink(of), true
		if own > 1 {
			p.warn("the %s joins %d devices: %d ranks share layers over %s", of.Link, own, group, p.link.Name)
		}
	default:
		p.link, p.device.HostLink = Link{Name: "network", BytesPerSecond: int64(p.device.Network)}, true
		p.warn("%d ranks share layers and a node has %s: they do so over the network, at %.0f Gbit/s a device, which nothing was calibrated on",
			group, words.Counted(p.DevicesPerNode, "device"), p.NetworkGbps)
	}
	p.device.Link = float64(p.link.BytesPerSecond)
}

func (p *place) warn(format string, values ...any) {
	p.warnings = append(p.warnings, fmt.Sprintf(format, values...))
}
