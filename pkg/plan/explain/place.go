package explain

import (
	"slices"

	"github.com/rankwright/rankwright/pkg/plan/search"
	"github.com/rankwright/rankwright/pkg/shape"
)

// Seat is where those devices of a stage are that share an island: a tensor group, or the tensor groups of all data
// ranks.
type Seat struct {
	Copy, Data, Stage int
	Nodes             []string
	Devices           int
	// Free is how many matching devices were free on the group's island, Rivals how many nodes or link domains had room
	// for the group.
	Free, Rivals int
}

// mostSeats bounds the seats that are listed.
const mostSeats = 16

// seats returns the tensor groups of the first copies of a portion.
func (e *explainer) seats(p *search.Portion) []Seat {
	var list []Seat
	for i, stages := range p.Instances {
		first := 0
		for stage, devices := range stages {
			if len(list) == mostSeats {
				return list
			}
			s := Seat{Copy: i / p.Data, Data: i % p.Data, Stage: stage, Devices: len(devices)}
			for _, at := range devices {
				if name := e.Problem.Cluster.NodeOf(at).Name; !slices.Contains(s.Nodes, name) {
					s.Nodes = append(s.Nodes, name)
				}
			}
			need := p.Footprint.Bytes(first, p.Ends[stage])
			s.Free, s.Rivals = e.rivals(devices, need)
			list = append(list, s)
			first = p.Ends[stage]
		}
	}
	return list
}

// rivals is how many devices were free on the island of a group, and how many islands of the same kind of device and link
// had room for such a group.
func (e *explainer) rivals(devices []int32, need int64) (free, rivals int) {
	for _, p := range e.pools {
		at := slices.IndexFunc(p.Parts, func(part shape.Part) bool { return slices.Contains(part.Devices, devices[0]) })
		if at < 0 {
			continue
		}
		mine := &p.Parts[at]
		free = len(mine.Devices)
		for _, parts := range p.Kinds {
			other := &p.Parts[parts[0]]
			if other.Class == mine.Class && *other.Wires == *mine.Wires && other.Limit >= len(devices) && len(other.Caps) >= len(devices) && other.Caps[len(devices)-1] >= need {
				rivals += len(parts)
			}
		}
	}
	return free, rivals
}

// rule says how the places of a portion were found.
func (e *explainer) rule(p *search.Portion) string {
	level := ""
	if e.level() < len(e.Levels)-1 {
		level = e.Problem.Prefer
	} else if e.Problem.Require.Level != "" {
		level = e.Problem.Require.Level
	}
	text := "Best fit: linked devices before those on PCIe, then the smallest devices that do, then those with the least memory left, then the node or link domain with the fewest free devices, so that large ones stay whole; then by name."
	if p.Stages > 1 {
		text = "A pipeline goes to the node or link domain that holds all stages with the fewest devices left over, else to as few of them as it can; then by name."
	}
	if level != "" {
		text = "Each copy stays within one value of " + level + ", the one with the fewest free devices first. " + text
	}
	return text
}

// GroupLink is the slowest link that a kind of process group sends over.
type GroupLink struct {
	// Name is tp, pp or dp; Size is the number of ranks of a group.
	Name string
	Size int
	Link LinkText
	// Crosses says that the group with the slowest link spans nodes.
	Crosses bool
	// Carries says what is sent over the link.
	Carries string
}

// networkName is what the connection between nodes is called for people.
const networkName = "network between nodes"

// links returns, for each kind of process group of a portion, the slowest link.
func (e *explainer) links(p *search.Portion) []GroupLink {
	var list []GroupLink
	if p.Tensor > 1 {
		l := GroupLink{Name: "tp", Size: p.Tensor, Carries: "two all-reduces a layer"}
		for _, stages := range p.Instances {
			for _, devices := range stages {
				l.slower(e.islandLink(devices[0], p.Tensor), e.crosses(devices))
			}
		}
		list = append(list, l)
	}
	if p.Stages > 1 {
		l := GroupLink{Name: "pp", Size: p.Stages, Carries: "the hidden state of each token, from stage to stage"}
		for _, stages := range p.Instances {
			for i := 1; i < len(stages); i++ {
				l.slower(e.linkBetween(stages[i-1][0], stages[i][0]))
			}
		}
		list = append(list, l)
	}
	if p.Data > 1 {
		l := GroupLink{Name: "dp", Size: p.Data, Carries: "tokens to the experts of all ranks and back, in each mixture"}
		if e.Problem.Workload.Training != nil {
			l.Carries = "gradients once a step, and shards of weights where they are sharded"
		}
		for i := 0; i < len(p.Instances); i += p.Data {
			for j := 1; j < p.Data; j++ {
				l.slower(e.linkBetween(p.Instances[i][0][0], p.Instances[i+j][0][0]))
			}
		}
		list = append(list, l)
	}
	return list
}

// slower replaces the link by the other one where that is slower.
func (l *GroupLink) slower(other LinkText, crosses bool) {
	if l.Link.Name == "" || other.BytesPerSecond < l.Link.BytesPerSecond {
		l.Link, l.Crosses = other, crosses
	}
}

func (e *explainer) islandLink(at int32, devices int) LinkText {
	c := e.Problem.Cluster
	d, n := c.Device(at), c.NodeOf(at)
	return linkOf(e.Problem.Classes[d.Class], &n.Islands[d.Island].Wires, devices)
}

func (e *explainer) crosses(devices []int32) bool {
	n := e.Problem.Cluster.NodeOf(devices[0])
	return slices.ContainsFunc(devices, func(at int32) bool { return e.Problem.Cluster.NodeOf(at) != n })
}

// linkBetween returns what connects two devices: their link domain, their host's PCIe, or the network.
func (e *explainer) linkBetween(a, b int32) (LinkText, bool) {
	c := e.Problem.Cluster
	d, other := c.Device(a), c.Device(b)
	n, m := c.NodeOf(a), c.NodeOf(b)
	wires := &n.Islands[d.Island].Wires
	if n == m && d.Island == other.Island {
		return e.islandLink(a, 2), false
	}
	if n == m {
		host := *wires
		host.Link = false
		return linkOf(e.Problem.Classes[d.Class], &host, 2), false
	}
	return LinkText{networkName, float64(min(wires.Network, m.Islands[other.Island].Wires.Network))}, true
}
