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
	watched watched
	// hosts and who was known to hold devices of each node are as the last snapshot had them.
	hosts   map[string]*Host
	claimed map[string]string
	cluster *Cluster
	sum     sum // of the digests of hosts and of nodes with claims
	epochs  epochs
	plans   holdings
}

// NewSnapshot returns a snapshot of a cluster that was not followed.
func NewSnapshot(now State) *Snapshot { return new(Follower).Follow(now) }

// forget has nothing be taken for the same object as before.
func (f *Follower) forget() {
	f.watched.forget()
	f.plans = nil
}

// rebuildShare is the share of the hosts, one in so many, beyond which building the index anew is cheaper than updating
// it.
const rebuildShare = 4

// Follow brings the index to the given state, as FollowInformed does, whose lists may be written later.
func (f *Follower) Follow(now State) *Snapshot {
	f.forget()
	defer f.forget()
	return f.FollowInformed(now.informed())
}

// FollowInformed brings the index to the given state. Inventories and nodes are compared by their resource versions, or by
// content where they have none. The snapshot keeps the plans and pods, and nothing else of the state.
func (f *Follower) FollowInformed(now Informed) *Snapshot {
	f.watched.see(&now)
	if f.plans == nil || len(f.plans) > 2*len(now.Plans) {
		f.plans = holdings{} // most are gone
	}
	s := snapshotOf(f.watched.share(), &now, f.plans)
	renewed := f.watched.renewed
	f.watched.renewed = nil
	changed := f.changed(renewed, s)
	for name := range changed {
		f.sum.take(digestOf(name, f.hosts[name], f.claimed))
		f.sum.add(digestOf(name, s.hosts[name], s.claimants))
	}
	f.epochs = f.epochs.next(changed, s.hosts, s.claimants)
	s.epochs, s.sum, s.ready = f.epochs, f.sum, f.watched.ready
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

// Ready counts nodes. Plans and pods of what is given do not matter.
func (f *Follower) Ready(now Informed) Readiness {
	f.watched.see(&now)
	return f.watched.ready
}

// changed returns the nodes in which a plan would see a difference.
func (f *Follower) changed(renewed map[string]bool, now *Snapshot) map[string]bool {
	changed := map[string]bool{}
	for name := range renewed {
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
