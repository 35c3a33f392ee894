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
	// Pods are the pods of placements. Follow takes the list over and removes the pods that hold nothing.
	Pods []corev1.Pod
	// PodsUnknown says that Pods were not read. A pod that an inventory names on a device of a plan is then taken for a
	// pod of that plan.
	PodsUnknown bool
	// Silent are the nodes whose agents have not been heard of for too long.
	Silent map[string]bool
}

// Follower keeps the index of a cluster from one snapshot to the next and does not index again what did not change. The
// zero value is ready for use. Follow must not be called concurrently; snapshots may be used so.
type Follower struct {
	hosts   map[string]*Host
	cluster *Cluster
	claimed map[string]string // by node: who was known to hold devices when it was indexed
	epochs  epochs
}

// NewSnapshot returns a snapshot of a cluster that was not followed.
func NewSnapshot(now State) *Snapshot { return new(Follower).Follow(now) }

// rebuildShare is the share of the hosts, one in so many, beyond which building the index anew is cheaper than updating
// it.
const rebuildShare = 4

// Follow brings the index to the given state. Inventories and nodes are compared by their resource versions, or by
// content where they have none. The snapshot keeps the lists of plans and pods, and nothing else of the state.
func (f *Follower) Follow(now State) *Snapshot {
	s := snapshotOf(f.follow(&now), &now)
	changed := f.changed(s.hosts, s.claimants)
	f.epochs = f.epochs.next(changed, s.hosts, s.claimants)
	s.epochs = f.epochs
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

// follow returns the hosts as they are now. A Host is replaced and never written, so that snapshots can share it.
func (f *Follower) follow(now *State) map[string]*Host {
	hosts := make(map[string]*Host, max(len(now.Nodes), len(now.Inventories)))
	byNode := make(map[string]*v1alpha1.AcceleratorInventory, len(now.Inventories))
	for i := range now.Inventories {
		byNode[now.Inventories[i].Name] = &now.Inventories[i]
	}
	for i := range now.Nodes {
		name := now.Nodes[i].Name
		hosts[name] = f.hosts[name].next(&now.Nodes[i], byNode[name], now.Silent[name])
	}
	for name, inventory := range byNode {
		if hosts[name] == nil {
			hosts[name] = f.hosts[name].next(nil, inventory, now.Silent[name])
		}
	}
	return hosts
}

// changed returns the nodes in which a plan would see a difference.
func (f *Follower) changed(hosts map[string]*Host, claimed map[string]string) map[string]bool {
	changed := map[string]bool{}
	for name, h := range hosts {
		if old := f.hosts[name]; old == nil || !old.Same(h) || f.claimed[name] != claimed[name] {
			changed[name] = true
		}
	}
	for name := range f.hosts {
		if hosts[name] == nil {
			changed[name] = true
		}
	}
	return changed
}
