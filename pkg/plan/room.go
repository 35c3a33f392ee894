package plan

import (
	"cmp"
	"maps"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/shape"
)

// localTurns is how many turns look only at nodes that the plan before put pods on. On thousands of nodes with little room that could go on for
// as many turns.
const localTurns = 3

// findWithRoom makes a plan that puts no more pods on a node than have room there. How many pods a plan puts on a node follows from its
// shape, so a plan with too many is made again with only the devices of those that have room. Each turn leaves fewer devices, so that
// it ends.
func findWithRoom(done <-chan struct{}, cluster *fleet.Cluster, request shape.Request) (*v1alpha1.ShardingPlanSpec, error) {
	for turn := 1; ; turn++ {
		made, err := find(done, cluster, request)
		if err != nil || !request.Room.Short() {
			return made, err
		}
		crowds := crowding{request: &request, has: podsOf(&request, request.Previous), puts: podsOf(&request, made)}
		crowded := crowds.devices(cluster, turn > localTurns)
		if len(crowded) == 0 {
			return made, nil
		}
		cluster = cluster.Clone()
		cluster.Crowd(crowded)
	}
}

// crowding finds the devices that cannot be used since their pods would have no room.
type crowding struct {
	request *shape.Request
	// has and puts are the pods of the previous plan and of the one that was just made, by node.
	has, puts map[string][][]v1alpha1.DeviceID
}

// devices returns the free devices, of nodes on which the plan puts too many pods, that are not of the first pods that have room. Where they
// are to be found everywhere and there are such nodes, they are joined by those of all other nodes that are more than pods as large as the
// plan's largest would use there.
func (c *crowding) devices(cluster *fleet.Cluster, everywhere bool) []int32 {
	var crowded, elsewhere []int32
	largest := 0
	for _, pods := range c.puts {
		for _, pod := range pods {
			largest = max(largest, len(pod))
		}
	}
	for at, n := range cluster.Nodes() {
		pods := c.puts[n.Name]
		// The pods of the previous plan that run there have their room.
		room := max(int(c.request.Room.For(n.Name)), len(c.has[n.Name]))
		switch {
		case len(pods) > room:
			crowded = append(crowded, refsBut(cluster, at, slices.Concat(pods[:room]...))...)
		case everywhere && len(pods) == 0 && room < len(n.Devices):
			elsewhere = append(elsewhere, refsBeyond(cluster, at, room*largest)...)
		}
	}
	if len(crowded) == 0 {
		return nil
	}
	return append(crowded, elsewhere...)
}

// refsBut returns the free devices of the node at a place but these.
func refsBut(cluster *fleet.Cluster, at int, kept []v1alpha1.DeviceID) []int32 {
	return slices.DeleteFunc(freeRefs(cluster, at), func(ref int32) bool { return slices.Contains(kept, cluster.Device(ref).ID) })
}

// refsBeyond returns the free devices of the node at a place but so many, which are of the islands with most of them.
func refsBeyond(cluster *fleet.Cluster, at, kept int) []int32 {
	free := freeRefs(cluster, at)
	return free[min(kept, len(free)):]
}

// freeRefs returns the free devices of the node at a place, those of islands with most of them first.
func freeRefs(cluster *fleet.Cluster, at int) []int32 {
	islands := slices.Clone(cluster.Nodes()[at].Islands)
	slices.SortStableFunc(islands, func(a, b fleet.Island) int { return cmp.Compare(len(b.Free), len(a.Free)) })
	var refs []int32
	for i := range islands {
		for _, device := range islands[i].Free {
			refs = append(refs, cluster.Ref(int32(at), device))
		}
	}
	return refs
}

// podsOf returns the devices of each pod that a plan has on each of its nodes.
func podsOf(request *shape.Request, made *v1alpha1.ShardingPlanSpec) map[string][][]v1alpha1.DeviceID {
	switch {
	case made == nil:
		return nil
	case request.Pods != nil:
		return request.Pods(made)
	default:
		return podsOn(made, request.Placement)
	}
}

// podsOn is podsOf where nobody knows the launcher: one pod for all devices that a copy has there, unless the
// placement says how many devices a pod gets. Copies are in order.
func podsOn(made *v1alpha1.ShardingPlanSpec, placement *v1alpha1.ModelPlacement) map[string][][]v1alpha1.DeviceID {
	copies := map[string]map[int32][]v1alpha1.DeviceID{}
	for i := range made.Nodes {
		row := &made.Nodes[i]
		if copies[row.Node] == nil {
			copies[row.Node] = map[int32][]v1alpha1.DeviceID{}
		}
		copies[row.Node][row.Replica] = append(copies[row.Node][row.Replica], row.Devices...)
	}
	pods := make(map[string][][]v1alpha1.DeviceID, len(copies))
	for node, of := range copies {
		for _, replica := range slices.Sorted(maps.Keys(of)) {
			pods[node] = slices.AppendSeq(pods[node], slices.Chunk(of[replica], podSize(len(of[replica]), placement)))
		}
	}
	return pods
}

// podSize returns how many devices a pod gets of those that a copy has on a node.
func podSize(devices int, placement *v1alpha1.ModelPlacement) int {
	if l := placement.Spec.Launch; l != nil && l.DevicesPerPod != nil {
		return int(*l.DevicesPerPod)
	}
	return devices
}
