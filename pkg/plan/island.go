package plan

import (
	"cmp"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// island is a set of devices of one class that a tensor group may be drawn from: the members of a link domain, or else
// the devices of a host that are in none. Every device is on exactly one.
type island struct {
	class int32
	link  bool
	// spans is set where the island's link domain goes over several nodes.
	spans   bool
	devices []int32 // ascending
}

// limit is the largest tensor degree that is chosen on the island; asked for, any degree up to its size is possible. A
// host's PCIe is the domain of last resort, where the model of costs decides between tensor groups and stages. TPUs and
// NPUs have no way to reduce over PCIe.
func (c *Cluster) limit(i *island) int {
	family := c.classes[i.class].family
	switch {
	case i.link:
		return len(i.devices)
	case family == v1alpha1.FamilyTPU || family == v1alpha1.FamilyNPU:
		return 1
	default:
		return len(i.devices)
	}
}

type fabricKey struct {
	fabric v1alpha1.Fabric
	class  int32
}

// localKey is an island of one node: domain is the index of its link domain, -1 where there is none.
type localKey struct {
	domain int
	class  int32
}

// builder makes a Cluster; its maps are kept between nodes to save allocations.
type builder struct {
	cluster *Cluster
	classes map[class]int32
	fabrics map[fabricKey]int32
	domains map[v1alpha1.DeviceID]int
	local   map[localKey]int32
	held    map[v1alpha1.DeviceID]Refusal
	sorted  []int32
}

func (b *builder) add(n *Node, twice bool) {
	c := b.cluster
	entry := node{name: n.Name, address: n.Address, labels: n.Labels, first: int32(len(c.devices)), last: int32(len(c.devices))}
	if n.Inventory == nil {
		c.nodes = append(c.nodes, entry)
		return
	}
	status := &n.Inventory.Status
	b.readDomains(status.Links.Domains)
	b.readHolders(n)
	clear(b.local)
	b.sorted = b.sorted[:0]
	for i := range status.Devices {
		b.sorted = append(b.sorted, int32(i))
	}
	slices.SortFunc(b.sorted, func(x, y int32) int { return cmp.Compare(status.Devices[x].ID, status.Devices[y].ID) })
	for i, at := range b.sorted {
		d := &status.Devices[at]
		if i > 0 && d.ID == status.Devices[b.sorted[i-1]].ID {
			c.devices[len(c.devices)-1].refusal = RefusedAmbiguous
			continue
		}
		cl := b.classIndex(d)
		is := b.islandIndex(d.ID, cl, status.Links.Domains)
		c.islands[is].devices = append(c.islands[is].devices, int32(len(c.devices)))
		c.devices = append(c.devices, device{
			id: d.ID, node: int32(len(c.nodes)), class: cl, island: is, refusal: b.refusal(n, d, twice), free: mebibytes(d.FreeMiB()),
		})
	}
	entry.last = int32(len(c.devices))
	c.nodes = append(c.nodes, entry)
}

// readDomains finds each device's link domain: the largest it is in, then the first by name. What a domain declares
// counts, not what is left of it, so that losing a device never lets others be grouped more freely.
func (b *builder) readDomains(domains []v1alpha1.LinkDomain) {
	clear(b.domains)
	for i := range domains {
		d := &domains[i]
		if len(d.Members) < 2 && d.Fabric == nil {
			continue
		}
		for _, id := range d.Members {
			if old, ok := b.domains[id]; !ok || cmp.Or(cmp.Compare(len(domains[old].Members), len(d.Members)), cmp.Compare(d.Name, domains[old].Name)) < 0 {
				b.domains[id] = i
			}
		}
	}
}

func (b *builder) readHolders(n *Node) {
	clear(b.held)
	for _, a := range n.Inventory.Status.Allocations {
		b.held[a.Device] = RefusedAllocated
	}
	for id, taken := range n.Taken {
		if taken {
			b.held[id] = RefusedTaken
		}
	}
	for _, id := range n.Inventory.Spec.CordonedDevices {
		b.held[id] = RefusedCordoned
	}
}

func (b *builder) classIndex(d *v1alpha1.Device) int32 {
	key := classOf(d)
	at, ok := b.classes[key]
	if !ok {
		at = int32(len(b.cluster.classes))
		b.classes[key] = at
		b.cluster.classes = append(b.cluster.classes, key)
	}
	return at
}

func (b *builder) islandIndex(id v1alpha1.DeviceID, class int32, domains []v1alpha1.LinkDomain) int32 {
	domain, linked := b.domains[id]
	if !linked {
		domain = -1
	}
	key := localKey{domain: domain, class: class}
	at, ok := b.local[key]
	if !ok && linked && domains[domain].Fabric != nil {
		at, ok = b.fabrics[fabricKey{*domains[domain].Fabric, class}]
		if ok {
			b.cluster.islands[at].spans = true
			b.local[key] = at
		}
	}
	if ok {
		return at
	}
	at = int32(len(b.cluster.islands))
	b.cluster.islands = append(b.cluster.islands, island{class: class, link: linked, devices: make([]int32, 0, 8)})
	b.local[key] = at
	if linked && domains[domain].Fabric != nil {
		b.fabrics[fabricKey{*domains[domain].Fabric, class}] = at
	}
	return at
}

// finish counts the devices of each node's commonest class.
func (b *builder) finish() {
	c := b.cluster
	counts := make([]int32, len(c.classes))
	for i := range c.nodes {
		n := &c.nodes[i]
		clear(counts)
		for _, d := range c.devices[n.first:n.last] {
			counts[d.class]++
			n.widest = max(n.widest, counts[d.class])
		}
	}
}
