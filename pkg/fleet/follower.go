package fleet

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// State is what there is of a cluster at one moment, in lists of any order.
type State struct {
	Inventories []v1alpha1.AcceleratorInventory
	Nodes       []corev1.Node
	// Plans are all that exist; each holds its devices, active or not.
	Plans []v1alpha1.ShardingPlan
	// Pods are those of placements. The list is taken over, and pods that hold nothing are removed from it.
	Pods []corev1.Pod
	// PodsUnknown says that Pods were not read. A pod that an inventory names on a device of a plan is taken for that plan's own
	// then.
	PodsUnknown bool
	// Silent are the nodes whose agents have not been heard of for too long.
	Silent map[string]bool
}

// Follower keeps the index of a cluster from one snapshot to the next: what did not change is not indexed again. The zero value
// has seen nothing. It must not be used by several at once; the snapshots may.
type Follower struct {
	hosts   map[string]*Host
	cluster *Cluster
	claimed map[string]string // by node: who was known to hold devices when it was indexed
}

// NewSnapshot returns a snapshot of a cluster that was not followed.
func NewSnapshot(now State) *Snapshot { return new(Follower).Follow(now) }

// rebuildShare is the share of the hosts that must have changed for building the index anew to be cheaper: one part in so
// many.
const rebuildShare = 4

// Follow brings the index to what there is now. Inventories and nodes are known by their resource versions; those without one
// are compared. Of the lists only the plans and pods are kept, by the snapshot.
func (f *Follower) Follow(now State) *Snapshot {
	s := snapshotOf(f.follow(&now), &now)
	claimed := s.claimants()
	changed := f.changed(s.hosts, claimed)
	f.hosts, f.claimed = s.hosts, claimed
	if f.cluster == nil || len(changed) > len(s.hosts)/rebuildShare {
		f.cluster = NewCluster(s.nodes(nil))
	} else {
		for _, name := range slices.Sorted(maps.Keys(changed)) {
			if h := s.hosts[name]; h != nil && h.plannable() {
				f.cluster.Update(s.node(h, nil, nil))
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

// changed are the nodes of which a plan would see a difference.
func (f *Follower) changed(hosts map[string]*Host, claimed map[string]string) map[string]bool {
	changed := map[string]bool{}
	for name, h := range hosts {
		if old := f.hosts[name]; old != h && (old == nil || !old.Same(h)) || f.claimed[name] != claimed[name] {
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
