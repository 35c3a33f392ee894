package plan

import (
	"cmp"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Node is a node of the cluster as the planner sees it.
type Node struct {
	// Name of the node.
	Name string
	// Address on the network; may be empty.
	Address string
	// Labels of the node, for selectors and topology levels.
	Labels map[string]string
	// Inventory is what the node has; nil means nothing.
	Inventory *v1alpha1.AcceleratorInventory
	// Taken are the devices that are held beyond what the inventory's allocations say, each with its holder: the
	// placement ("namespace/name") whose plan holds it, or "" where anything else does, which no planning can move.
	Taken map[v1alpha1.DeviceID]string
	// Unschedulable keeps new work off the node: it is cordoned, not ready, or its agent is silent.
	Unschedulable bool
}

// device is an accelerator in the index.
type device struct {
	id      v1alpha1.DeviceID
	free    int64 // bytes that strangers leave
	holder  string
	class   int32
	island  int32 // of the node
	refusal reason
	// under is why the device would be refused if no plan held it.
	under reason
}

// node is a node in the index. It is never changed once it is there, so that clones can share it.
type node struct {
	name, address string
	labels        map[string]string
	devices       []device // by id
	islands       []island // by their first device
	// widest is the number of devices of the commonest class on the node.
	widest int32
	// unclaimed says that the node has a device that nothing but a plan keeps from new ones, and that no ResourceClaim selects.
	unclaimed bool
}

// reader makes nodes; its maps are kept between nodes to save allocations.
type reader struct {
	cluster *Cluster
	domains map[v1alpha1.DeviceID]int32
	held    map[v1alpha1.DeviceID]hold
	sorted  []*v1alpha1.Device
}

// hold is why a device is kept from new plans, by whom, and why it would be if that holder let go of it.
type hold struct {
	refusal, under reason
	holder         string
}

func newReader(c *Cluster) *reader {
	return &reader{cluster: c, domains: map[v1alpha1.DeviceID]int32{}, held: map[v1alpha1.DeviceID]hold{}}
}

// read makes a node.
func (r *reader) read(n *Node) *node {
	made := &node{name: n.Name, address: n.Address, labels: n.Labels}
	if n.Inventory == nil {
		return made
	}
	status := &n.Inventory.Status
	r.readDomains(status.Links.Domains)
	r.readHolders(n)
	r.sort(status.Devices)
	made.devices = make([]device, 0, len(r.sorted))
	common := factsOf(status)
	var key classKey
	class := int32(-1)
	for i, d := range r.sorted {
		if i > 0 && d.ID == r.sorted[i-1].ID {
			last := &made.devices[len(made.devices)-1]
			last.refusal, last.under, last.holder = refusedAmbiguous, refusedAmbiguous, ""
			continue
		}
		if next := classOf(d); class < 0 || next != key {
			key, class = next, r.cluster.class(&next)
		}
		domain, linked := r.domains[d.ID]
		if !linked {
			domain = -1
		}
		at := device{id: d.ID, free: mebibytes(d.FreeMiB()), class: class, island: made.island(class, domain, &common)}
		held := r.held[d.ID]
		at.refusal, at.under = refusalOf(n, d, held.refusal), refusalOf(n, d, held.under)
		if at.refusal == refusedTaken {
			at.holder = held.holder
		}
		made.unclaimed = made.unclaimed || at.under == fit && d.ClaimAttribute == nil
		made.devices = append(made.devices, at)
	}
	made.prepare()
	return made
}

// readTwice makes a node that is listed several times: nothing of what the lists say can be relied on, so that no device
// of any is used and nothing is known that they do not agree on.
func (r *reader) readTwice(lists []*Node) *node {
	made := &node{name: lists[0].Name, address: lists[0].Address}
	for _, n := range lists {
		if n.Address != made.address {
			made.address = ""
		}
		bare := *n
		bare.Taken = nil
		made.devices = append(made.devices, r.read(&bare).devices...)
	}
	for i := range made.devices {
		d := &made.devices[i]
		d.island, d.holder = 0, ""
		if d.refusal != refusedCPU {
			d.refusal = refusedAmbiguous
		}
		d.under = d.refusal
	}
	slices.SortFunc(made.devices, func(a, b device) int {
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.refusal, b.refusal))
	})
	return made
}

// sort brings the devices into the order of their ids.
func (r *reader) sort(devices []v1alpha1.Device) {
	r.sorted = r.sorted[:0]
	for i := range devices {
		r.sorted = append(r.sorted, &devices[i])
	}
	byID := func(a, b *v1alpha1.Device) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.Product, b.Product))
	}
	if !slices.IsSortedFunc(r.sorted, byID) {
		slices.SortFunc(r.sorted, byID)
	}
}

// readDomains finds each device's link domain: the largest it is in, then the first by name. What a domain declares
// counts, not what is left of it, so that losing a device never lets others be grouped more freely.
func (r *reader) readDomains(domains []v1alpha1.LinkDomain) {
	clear(r.domains)
	for i := range domains {
		d := &domains[i]
		if len(d.Members) < 2 && d.Fabric == nil {
			continue
		}
		for _, id := range d.Members {
			if old, ok := r.domains[id]; !ok || cmp.Or(cmp.Compare(len(domains[old].Members), len(d.Members)), cmp.Compare(d.Name, domains[old].Name)) < 0 {
				r.domains[id] = int32(i)
			}
		}
	}
}

// readHolders finds what keeps devices from new plans. The pods that hold a device of a placement's plan are taken for its
// own, which go with it: who fills in Taken names nobody where they are not.
func (r *reader) readHolders(n *Node) {
	clear(r.held)
	for _, a := range n.Inventory.Status.Allocations {
		r.held[a.Device] = hold{refusal: refusedAllocated, under: refusedAllocated}
	}
	for id, holder := range n.Taken {
		h := hold{refusal: refusedTaken, holder: holder}
		if holder == "" {
			h.under = refusedTaken
		}
		r.held[id] = h
	}
	for _, id := range n.Inventory.Spec.CordonedDevices {
		r.held[id] = hold{refusal: refusedCordoned, under: refusedCordoned}
	}
}

// prepare counts, and lists the free devices of each island.
func (n *node) prepare() {
	backing := make([]int32, len(n.devices))
	counts := make([]int32, len(n.islands))
	for i := range n.devices {
		counts[n.devices[i].island]++
	}
	start := int32(0)
	for i := range n.islands {
		n.islands[i].size = counts[i]
		n.islands[i].free = backing[start : start : start+counts[i]]
		start += counts[i]
	}
	for i := range n.devices {
		if d := &n.devices[i]; d.refusal == fit {
			is := &n.islands[d.island]
			is.free = append(is.free, int32(i))
		}
	}
	falling := func(a, b int32) int { return cmp.Compare(n.devices[b].free, n.devices[a].free) }
	for i := range n.islands {
		if free := n.islands[i].free; !slices.IsSortedFunc(free, falling) {
			slices.SortStableFunc(free, falling)
		}
	}
	n.widest = 0
	for i := range n.islands {
		total := int32(0)
		for j := range n.islands {
			if n.islands[j].class == n.islands[i].class {
				total += n.islands[j].size
			}
		}
		n.widest = max(n.widest, total)
	}
}
