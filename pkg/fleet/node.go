package fleet

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Node is the input of an index for one node.
type Node struct {
	Name string
	// Address is the node's address on the network; it may be empty.
	Address string
	// Labels of the node, for selectors and topology levels.
	Labels map[string]string
	// Inventory is what the node has; nil means no devices.
	Inventory *v1alpha1.AcceleratorInventory
	// Taken are devices that are held beyond what the inventory's allocations say, each with its holder: the placement
	// ("namespace/name") whose plan holds it, or "" for anything else, which planning cannot move.
	Taken map[v1alpha1.DeviceID]string
	// Taints keep pods off the node that do not tolerate them.
	Taints []corev1.Taint
	// Unschedulable keeps new work off the node: it is cordoned, not ready, or its agent is silent.
	Unschedulable bool
}

// Device is an accelerator in the index.
type Device struct {
	ID v1alpha1.DeviceID
	// FreeBytes is the memory that processes outside any plan leave; no part of it is held by a plan.
	FreeBytes int64
	// Holder is the placement whose plan holds the device, as in Node.Taken; empty where none does or the placement is
	// not known.
	Holder string
	// Class is the number of the device's class, Island an index in NodeEntry.Islands.
	Class, Island int32

	refusal reason
	// under is why the device would be refused if no plan held it.
	under reason
}

// NodeEntry is a node in the index. It is never changed once it is in an index, so that clones can share it.
type NodeEntry struct {
	Name, Address string
	Labels        map[string]string
	// Taints keep pods off the node that do not tolerate them.
	Taints []corev1.Taint
	// Devices are in order of their ids, Islands in order of their first device.
	Devices []Device
	Islands []Island
	// Widest is the number of devices of the node's commonest class.
	Widest int32
	// Closed says that the node takes no new work.
	Closed bool
	// Unclaimed says that some device of the node is free but for plans and that no ResourceClaim selects it.
	Unclaimed bool
}

// Movable reports whether only the plan of a known placement keeps the device from new plans.
func (d *Device) Movable() bool { return d.refusal == refusedTaken && d.under == fit && d.Holder != "" }

// Refusal returns why no plan may use the device; empty where a plan may.
func (d *Device) Refusal() Refusal { return d.refusal.text() }

// reader makes nodes; its maps are kept between nodes to save allocations.
type reader struct {
	cluster *Cluster
	domains map[v1alpha1.DeviceID]int32
	held    map[v1alpha1.DeviceID]hold
	sorted  []*v1alpha1.Device
}

// hold is why a device is kept from new plans, who holds it, and why it would still be kept if that holder released it.
type hold struct {
	refusal, under reason
	holder         string
}

func newReader(c *Cluster) *reader {
	return &reader{cluster: c, domains: map[v1alpha1.DeviceID]int32{}, held: map[v1alpha1.DeviceID]hold{}}
}

// read indexes a node.
func (r *reader) read(n *Node) *NodeEntry {
	made := &NodeEntry{Name: n.Name, Address: n.Address, Labels: n.Labels, Taints: n.Taints, Closed: n.Unschedulable}
	if n.Inventory == nil {
		return made
	}
	status := &n.Inventory.Status
	r.readDomains(status.Links.Domains)
	r.readHolders(n)
	r.sort(status.Devices)
	made.Devices = make([]Device, 0, len(r.sorted))
	outside := wiresToOutside(status)
	var key Class
	class := int32(-1)
	for i, d := range r.sorted {
		if i > 0 && d.ID == r.sorted[i-1].ID {
			last := &made.Devices[len(made.Devices)-1]
			last.refusal, last.under, last.Holder = refusedAmbiguous, refusedAmbiguous, ""
			continue
		}
		if next := classOf(d); class < 0 || next != key {
			key, class = next, r.cluster.class(&next)
		}
		domain, linked := r.domains[d.ID]
		if !linked {
			domain = -1
		}
		at := Device{ID: d.ID, FreeBytes: mebibytes(d.FreeMiB()), Class: class, Island: made.island(class, domain, status.Links.Domains, outside)}
		held := r.held[d.ID]
		at.refusal, at.under = refusalOf(n, d, held.refusal), refusalOf(n, d, held.under)
		if at.refusal == refusedTaken {
			at.Holder = held.holder
		}
		made.Unclaimed = made.Unclaimed || at.under == fit && d.ClaimAttribute == nil
		made.Devices = append(made.Devices, at)
	}
	made.prepare()
	return made
}

// readTwice indexes a node that is listed several times. Its lists cannot be relied on: no device is used, and the
// address is kept only where all lists agree.
func (r *reader) readTwice(lists []*Node) *NodeEntry {
	made := &NodeEntry{Name: lists[0].Name, Address: lists[0].Address}
	for _, n := range lists {
		if n.Address != made.Address {
			made.Address = ""
		}
		bare := *n
		bare.Taken = nil
		made.Devices = append(made.Devices, r.read(&bare).Devices...)
	}
	for i := range made.Devices {
		d := &made.Devices[i]
		d.Island, d.Holder = 0, ""
		if d.refusal != refusedCPU {
			d.refusal = refusedAmbiguous
		}
		d.under = d.refusal
	}
	slices.SortFunc(made.Devices, func(a, b Device) int {
		return cmp.Or(cmp.Compare(a.ID, b.ID), cmp.Compare(a.refusal, b.refusal))
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

// readDomains finds each device's link domain: the largest one that has the device, of equal ones the first by name. The
// members that a domain declares count, not those that are still there, so that losing a device never lets others be
// grouped more freely.
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

// readHolders finds what keeps devices from new plans. Pods on a device of a placement's plan are taken for pods of that
// plan; the maker of Node.Taken names no holder where other pods are there.
func (r *reader) readHolders(n *Node) {
	clear(r.held)
	for _, a := range n.Inventory.Status.Allocations {
		r.held[a.Device] = hold{refusal: refusedAllocated, under: refusedAllocated}
	}
	for id, holder := range n.Taken {
		if _, allocated := r.held[id]; allocated && holder == "" {
			continue
		}
		h := hold{refusal: refusedTaken, holder: holder}
		if holder == "" {
			h.under = refusedTaken
		}
		r.held[id] = h
	}
	for _, id := range slices.Concat(n.Inventory.Spec.CordonedDevices, n.Inventory.Status.Withdrawn()) {
		r.held[id] = hold{refusal: refusedCordoned, under: refusedCordoned}
	}
}

// prepare counts the devices and lists the free ones of each island.
func (n *NodeEntry) prepare() {
	backing := make([]int32, len(n.Devices))
	counts := make([]int32, len(n.Islands))
	for i := range n.Devices {
		counts[n.Devices[i].Island]++
	}
	start := int32(0)
	for i := range n.Islands {
		n.Islands[i].Size = counts[i]
		n.Islands[i].Free = backing[start : start : start+counts[i]]
		start += counts[i]
	}
	for i := range n.Devices {
		if d := &n.Devices[i]; d.refusal == fit {
			is := &n.Islands[d.Island]
			is.Free = append(is.Free, int32(i))
		}
	}
	falling := func(a, b int32) int { return cmp.Compare(n.Devices[b].FreeBytes, n.Devices[a].FreeBytes) }
	for i := range n.Islands {
		if free := n.Islands[i].Free; !slices.IsSortedFunc(free, falling) {
			slices.SortStableFunc(free, falling)
		}
	}
	n.Widest = 0
	for i := range n.Islands {
		total := int32(0)
		for j := range n.Islands {
			if n.Islands[j].Class == n.Islands[i].Class {
				total += n.Islands[j].Size
			}
		}
		n.Widest = max(n.Widest, total)
	}
}
