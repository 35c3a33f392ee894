// Package holding says of each device of a cluster who holds it: which pod, by what kubelets report, and which rank of which plan; and of the others why
// nobody does. It is pure, and what is free is decided by package fleet, as for a plan. What could not be read makes a device unknown, never free.
package holding

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
)

// State is the objects of a cluster at one moment, in lists of any order.
type State struct {
	fleet.State

	Placements []v1alpha1.ModelPlacement
	Meshes     []v1alpha1.DeviceMesh
	// Utilization is what node agents say of how busy the devices of their nodes are, by node, in the form of inventory.Utilization.
	Utilization map[string]string
	// Unseen are the kinds that were not read, or not everywhere.
	Unseen []Unseen
}

// Unseen is a kind of which not all objects may be seen.
type Unseen struct {
	// Kind is the plural name of the kind: shardingplans, nodes, ….
	Kind string `json:"kind"`
	// Namespace is the one in which the objects are seen; empty where none is.
	Namespace string `json:"seenIn,omitempty"`
}

// Kinds of which something is said where they are not seen.
const (
	Inventories = "acceleratorinventories"
	Placements  = "modelplacements"
	Plans       = "shardingplans"
	Meshes      = "devicemeshes"
	Nodes       = "nodes"
	Pods        = "pods"
)

// Sees says whether all objects of a kind were read.
func (s *State) Sees(kind string) bool {
	return !slices.ContainsFunc(s.Unseen, func(u Unseen) bool { return u.Kind == kind })
}

// Fleet is who holds what.
type Fleet struct {
	// Devices are in order of node and id: those of the inventories without processors of hosts, and those that only plans name.
	Devices []Device
	// Nodes are those that have an inventory, in order of their names.
	Nodes []Node
	// Placements are those that are known, by themselves or by a plan, in order of namespace and name.
	Placements []Placement
	Unseen     []Unseen
}

// join is what is looked up while devices are put together.
type join struct {
	state    *State
	snapshot *fleet.Snapshot
	index    *fleet.Cluster
	seats    map[place][]Seat
	bound    map[place][]Pod
	pods     map[types.NamespacedName]*corev1.Pod
	// blind says that somebody may hold devices and be none of those that were read.
	blind string
}

// place is a device of a cluster.
type place struct {
	node string
	id   v1alpha1.DeviceID
}

// Of puts together who holds what. The state is not changed.
func Of(s *State) *Fleet {
	f, _ := Follow(new(fleet.Follower), s)
	return f
}

// Follow does what Of does for a cluster that is looked at again and again: nodes that did not change are not indexed anew. The snapshot that was made on
// the way is what a plan would be computed from.
func Follow(follower *fleet.Follower, s *State) (*Fleet, *fleet.Snapshot) {
	j := joinOf(follower, s)
	f := &Fleet{Unseen: s.Unseen}
	inventories := slices.SortedFunc(slices.Values(pointers(s.Inventories)), compareNames)
	for _, inventory := range inventories {
		node, devices := j.node(inventory)
		f.Nodes, f.Devices = append(f.Nodes, node), append(f.Devices, devices...)
	}
	f.Devices = append(f.Devices, j.unlisted(f.Devices)...)
	slices.SortStableFunc(f.Devices, func(a, b Device) int { return cmp.Or(cmp.Compare(a.Node, b.Node), cmp.Compare(a.ID, b.ID)) })
	f.Placements = j.placements(f.Devices)
	return f, j.snapshot
}

func joinOf(follower *fleet.Follower, s *State) *join {
	now := s.State
	if !s.Sees(Nodes) {
		now.Nodes = fleet.WithStandIns(s.Nodes, s.Inventories)
	}
	now.PodsUnknown = now.PodsUnknown || !s.Sees(Pods)
	snapshot := follower.Follow(now)
	j := &join{
		state: s, snapshot: snapshot, index: snapshot.Cluster("", nil, nil), seats: seatsOf(s), bound: map[place][]Pod{}, pods: map[types.NamespacedName]*corev1.Pod{},
	}
	for _, kind := range []string{Plans, Pods} {
		if !s.Sees(kind) {
			j.blind = kind + " are not all seen"
		}
	}
	for _, pod := range snapshot.Pods {
		j.pods[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}] = pod
		for _, id := range fleet.BoundTo(pod) {
			at := place{pod.Spec.NodeName, id}
			j.bound[at] = append(j.bound[at], Pod{Namespace: pod.Namespace, Name: pod.Name, Bound: true})
		}
	}
	return j
}

func pointers[T any](list []T) []*T {
	made := make([]*T, len(list))
	for i := range list {
		made[i] = &list[i]
	}
	return made
}

// sorted are the values of a map in order of its keys.
func sorted[K comparable, V any](of map[K]V, compare func(a, b K) int) []V {
	keys := slices.SortedFunc(maps.Keys(of), compare)
	values := make([]V, len(keys))
	for i, key := range keys {
		values[i] = of[key]
	}
	return values
}
