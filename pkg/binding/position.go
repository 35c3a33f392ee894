package binding

import "github.com/rankwright/rankwright/pkg/launch"

// Position is where a pod stands among the pods of its workload.
type Position struct {
	// Member counts pods, in the group where there are groups.
	Member int32
	// Group counts groups of pods; nil where the workload has none.
	Group *int32
	// Groups is the number of groups, and Size the number of pods in each; 0 where the pod does not say.
	Groups, Size int32
}

// grouped makes the position of a member of a group.
func grouped(group, member int32) Position { return Position{Group: &group, Member: member} }

// Index returns the pod's index among the places of a mesh. A group is a copy, or where there are fewer or more groups than
// copies an equal share of the pods.
func (p Position) Index(places []launch.Pod) (int32, error) {
	total := int32(len(places))
	if p.Group == nil || p.Groups == 1 && p.Size == 0 {
		if p.Member >= total {
			return 0, refuse(ReasonIndexOutOfRange, "index %d: the mesh has %d pods, 0 to %d: have no more pods, or set spec.launch.devicesPerPod of the placement",
				p.Member, total, total-1)
		}
		return p.Member, nil
	}
	copies := copySizes(places)
	if p.Groups != 0 && p.Groups != int32(len(copies)) {
		return p.share(total)
	}
	if *p.Group >= int32(len(copies)) {
		return 0, refuse(ReasonIndexOutOfRange, "group %d: the mesh has %d copies: have no more groups, or raise spec.replicas of the placement",
			*p.Group, len(copies))
	}
	var before int32
	for _, size := range copies[:*p.Group] {
		before += size
	}
	size := copies[*p.Group]
	if p.Size != 0 && p.Size != size {
		return 0, refuse(ReasonGroupsDiffer, "groups of %d pods: copy %d of the mesh has %d pods: set the group's size to that, or spec.launch.devicesPerPod of the placement",
			p.Size, *p.Group, size)
	}
	if p.Member >= size {
		return 0, refuse(ReasonIndexOutOfRange, "pod %d of group %d: copy %d of the mesh has %d pods: have as many in the group, or set spec.launch.devicesPerPod of the placement",
			p.Member, *p.Group, *p.Group, size)
	}
	return before + p.Member, nil
}

// share divides all pods among the groups.
func (p Position) share(total int32) (int32, error) {
	if total%p.Groups != 0 {
		return 0, refuse(ReasonGroupsDiffer, "%d groups: they do not divide the %d pods of the mesh: have one group for each copy", p.Groups, total)
	}
	size := total / p.Groups
	if p.Member >= size || *p.Group >= p.Groups {
		return 0, refuse(ReasonIndexOutOfRange, "pod %d of group %d: each of %d groups has %d pods of the mesh", p.Member, *p.Group, p.Groups, size)
	}
	return *p.Group*size + p.Member, nil
}

// Alone returns the pod's index where nothing is known of the mesh, and false where the index depends on it.
func (p Position) Alone() (int32, bool) {
	switch {
	case p.Group == nil || p.Groups == 1 && p.Size == 0:
		return p.Member, true
	case p.Size > 0 && p.Member < p.Size && int64(*p.Group)*int64(p.Size)+int64(p.Member) <= maxIndex:
		return *p.Group*p.Size + p.Member, true
	default:
		return 0, false
	}
}
