package explain

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/shape"
)

// DeviceKind is free devices that match a request and that the planner cannot tell apart.
type DeviceKind struct {
	Product string
	// Groups is how many nodes or link domains have such devices free, Devices how many devices each of them has free.
	Groups, Devices int
	// Link is what joins the devices of a group. NetworkBytes is what each device sends to other nodes, in bytes per
	// second; 0 where it is not known.
	Link         LinkText
	NetworkBytes float64
	// OfferedBytes is what the engine may take of the device with the most free memory, LeastBytes of the one with the
	// least.
	OfferedBytes, LeastBytes int64
}

// LinkText is a link for people: its name, and what a device sends over it in bytes per second, 0 where that is not
// known.
type LinkText struct {
	Name           string
	BytesPerSecond float64
}

// RefusedCount is how many devices do not count for a reason. The reason reads after the number.
type RefusedCount struct {
	Devices int
	Reason  string
}

// census counts the free devices by kind and the refused ones by reason, the most devices first.
func (e *explainer) census() ([]DeviceKind, []RefusedCount) {
	var kinds []DeviceKind
	for _, p := range e.Levels[len(e.Levels)-1] {
		for _, parts := range p.Kinds {
			made := e.deviceKind(p, parts)
			alike := func(k DeviceKind) bool {
				k.Groups = made.Groups
				return k == made
			}
			if at := slices.IndexFunc(kinds, alike); at >= 0 {
				kinds[at].Groups += made.Groups
			} else {
				kinds = append(kinds, made)
			}
		}
	}
	slices.SortStableFunc(kinds, func(a, b DeviceKind) int {
		return cmp.Or(cmp.Compare(a.Product, b.Product), cmp.Compare(b.Groups*b.Devices, a.Groups*a.Devices))
	})
	refused := e.Problem.Match(e.Format, e.Problem.Require.Level).Census.Refused
	var counts []RefusedCount
	for why, n := range maps.All(refused) {
		if why != fleet.RefusedCPU {
			counts = append(counts, RefusedCount{n, string(why)})
		}
	}
	slices.SortFunc(counts, func(a, b RefusedCount) int {
		return cmp.Or(cmp.Compare(b.Devices, a.Devices), cmp.Compare(a.Reason, b.Reason))
	})
	return kinds, counts
}

func (e *explainer) deviceKind(p *shape.Pool, parts []int32) DeviceKind {
	part := &p.Parts[parts[0]]
	class := e.Problem.Classes[part.Class]
	return DeviceKind{
		Product: class.Name(), Groups: len(parts), Devices: len(part.Caps), Link: linkOf(class, part.Wires, len(part.Caps)),
		NetworkBytes: float64(part.Wires.Network), OfferedBytes: part.Caps[0], LeastBytes: part.Caps[len(part.Caps)-1],
	}
}

// linkOf returns how devices of a class reach each other on an island.
func linkOf(c *shape.Class, w *fleet.Wires, devices int) LinkText {
	rates := c.Facts.Device(w, devices)
	switch {
	case rates.HostLink && c.Catalogue != nil && c.Catalogue.HostLink != "":
		return LinkText{c.Catalogue.HostLink, rates.Link}
	case rates.HostLink:
		return LinkText{"PCIe", rates.Link}
	case c.Catalogue != nil && c.Catalogue.Link != "":
		name, _, _ := strings.Cut(c.Catalogue.Link, " ") // what follows are rates
		if w.Topology != v1alpha1.TopologySwitch {
			name += " " + strings.ToLower(string(w.Topology))
		}
		return LinkText{name, rates.Link}
	default:
		return LinkText{"link domain", rates.Link}
	}
}
