package fleet

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// State is the objects of a cluster at one moment, in lists of any order.
type State struct {
	Inventories []v1alpha1.AcceleratorInventory
	Nodes       []corev1.Node
	// Plans are all plans that exist; each holds its devices, active or not.
	Plans []v1alpha1.ShardingPlan
	// Pods are the pods of placements.
	Pods []corev1.Pod
	// PodsUnknown says that Pods were not read. A pod that an inventory names on a device of a plan is then taken for a
	// pod of that plan.
	PodsUnknown bool
	// Silent are the nodes whose agents have not been heard of for too long.
	Silent map[string]bool
}

// Informed is a State of the objects that informers share, which are replaced and never written: one that is the same as at the last time is not
// looked into.
type Informed struct {
	Inventories []*v1alpha1.AcceleratorInventory
	Nodes       []*corev1.Node
	Plans       []v1alpha1.ShardingPlan
	Pods        []*corev1.Pod
	PodsUnknown bool
	Silent      map[string]bool
}

func (s *State) informed() Informed {
	return Informed{pointers(s.Inventories), pointers(s.Nodes), s.Plans, pointers(s.Pods), s.PodsUnknown, s.Silent}
}

func pointers[T any](list []T) []*T {
	all := make([]*T, len(list))
	for i := range list {
		all[i] = &list[i]
	}
	return all
}

// Follower keeps the index of a cluster from one snapshot to the next and does not index again what did not change. The
// zero value is ready for use. Its methods must not be called concurrently; snapshots may be used so.
type Follower struct {
	hosts   map[string]*Host
	seen    map[string]seen
	cluster *Cluster
	claimed map[string]string // by node: who was known to hold devices when it was indexed
	sum     sum               // of the digests of hosts and of nodes with claims
	epochs  epochs
}

// seen are the objects that a host was made from.
type seen struct {
	node      *corev1.Node
	inventory *v1alpha1.AcceleratorInventory
	silent    bool
}

// NewSnapshot returns a snapshot of a cluster that was not followed.
func NewSnapshot(now State) *Snapshot { return new(Follower).Follow(now) }

// rebuildShare is the share of the hosts, one in so many, beyond which building the index anew is cheaper than updating
// it.
const rebuildShare = 4

// Follow brings the index to the given state, as FollowInformed does, whose lists may be written later.
func (f *Follower) Follow(now State) *Snapshot {
	f.seen = nil
	defer func() { f.seen = nil }()
	return f.FollowInformed(now.informed())
}

// FollowInformed brings the index to the given state. Inventories and nodes are compared by their resource versions, or by
// content where they have none. The snapshot keeps the plans and pods, and nothing else of the state.
func (f *Follower) FollowInformed(now Informed) *Snapshot {
	hosts, renewed := f.follow(&now)
	s := snapshotOf(hosts, &now)
	changed := f.changed(renewed, s)
	for name := range changed {
		f.sum.take(digestOf(name, f.hosts[name], f.claimed))
		f.sum.add(digestOf(name, hosts[name], s.claimants))
	}
	f.epochs = f.epochs.next(changed, s.hosts, s.claimants)
	s.epochs, s.sum = f.epochs, f.sum
	f.hosts, f.claimed = s.hosts, maps.Clone(s.claimants) // Hold changes the snapshot's
	if f.cluster == nil || len(changed) > len(s.hosts)/rebuildShare {
		f.cluster = NewCluster(s.nodes("", nil))
	} else {
		for _, name := range slices.Sorted(maps.Keys(changed)) {
			if h := s.hosts[name]; h != nil && h.plannable() {
				f.cluster.Update(s.node(h, leavingFor("", nil), nil))
			} else {
				f.cluster.Remove(name)
			}
		}
	}
	s.cluster = f.cluster.Clone()
	return s
}

// follow returns the hosts as they are now, and the names of those that are others than before. A Host is replaced and never written, and so is the
// map, so that snapshots can share them.
func (f *Follower) follow(now *Informed) (hosts map[string]*Host, renewed []string) {
	touched := f.look(now)
	if len(touched) == 0 {
		return f.hosts, nil
	}
	if hosts = maps.Clone(f.hosts); hosts == nil {
		hosts = make(map[string]*Host, len(touched))
	}
	for name := range touched {
		is, old := f.seen[name], f.hosts[name]
		if is.node == nil && is.inventory == nil {
			delete(f.seen, name)
			delete(hosts, name)
			renewed = append(renewed, name)
		} else if next := old.next(is.node, is.inventory, is.silent); next != old {
			hosts[name] = next
			renewed = append(renewed, name)
		}
	}
	return hosts, renewed
}

// look notes what there is by node, and returns the nodes of which something is another object than before.
func (f *Follower) look(now *Informed) map[string]bool {
	touched := map[string]bool{}
	if f.seen == nil {
		f.seen = make(map[string]seen, len(now.Nodes))
		for name := range f.hosts {
			f.seen[name], touched[name] = seen{}, true
		}
	}
	for _, node := range now.Nodes {
		if is := f.seen[node.Name]; is.node != node {
			is.node = node
			f.seen[node.Name], touched[node.Name] = is, true
		}
	}
	for _, inventory := range now.Inventories {
		if is := f.seen[inventory.Name]; is.inventory != inventory {
			is.inventory = inventory
			f.seen[inventory.Name], touched[inventory.Name] = is, true
		}
	}
	nodes, inventories := 0, 0
	for name, is := range f.seen {
		if is.node != nil {
			nodes++
		}
		if is.inventory != nil {
			inventories++
		}
		if is.silent != now.Silent[name] {
			is.silent = now.Silent[name]
			f.seen[name], touched[name] = is, true
		}
	}
	if nodes > len(now.Nodes) || inventories > len(now.Inventories) {
		f.drop(now, touched)
	}
	return touched
}

// drop notes what is not there any more.
func (f *Follower) drop(now *Informed, touched map[string]bool) {
	nodes, inventories := make(map[string]bool, len(now.Nodes)), make(map[string]bool, len(now.Inventories))
	for _, node := range now.Nodes {
		nodes[node.Name] = true
	}
	for _, inventory := range now.Inventories {
		inventories[inventory.Name] = true
	}
	for name, is := range f.seen {
		left := is
		if !nodes[name] {
			left.node = nil
		}
		if !inventories[name] {
			left.inventory = nil
		}
		if left != is {
			f.seen[name], touched[name] = left, true
		}
	}
}

// changed returns the nodes in which a plan would see a difference.
func (f *Follower) changed(renewed []string, now *Snapshot) map[string]bool {
	changed := map[string]bool{}
	for _, name := range renewed {
		if old, h := f.hosts[name], now.hosts[name]; old == nil || h == nil || !old.Same(h) {
			changed[name] = true
		}
	}
	for name, claims := range now.claimants {
		if before, were := f.claimed[name]; !were || before != claims {
			changed[name] = true
		}
	}
	for name := range f.claimed {
		if _, are := now.claimants[name]; !are {
			changed[name] = true
		}
	}
	return changed
}
