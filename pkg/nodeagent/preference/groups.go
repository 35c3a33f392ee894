package preference

import (
	"encoding/binary"
	"slices"
)

// Limits of the search for groups, which only unusual topologies reach: the groups found until then count.
const (
	maxGroups     = 1024
	maxGroupSteps = 1 << 16
)

// A group is a set of two and more devices that are within some distance of each other, and to which no further device
// of the node could be added. What is left for others is counted by them.

// findGroups returns the groups of every distance, each once, and whether these are all.
func (t *Topology) findGroups() ([]set, bool) {
	n := len(t.ids)
	var distances []int32
	for i := range n {
		distances = append(distances, t.distances[i*n:i*n+i]...)
	}
	slices.Sort(distances)
	f := groupFinder{known: map[string]bool{}}
	for _, distance := range slices.Compact(distances) {
		f.near = make([]set, n)
		all := newSet(n)
		for i := range n {
			all.add(i)
			f.near[i] = newSet(n)
			for j := range n {
				if i != j && t.distances[i*n+j] <= distance {
					f.near[i].add(j)
				}
			}
		}
		f.extend(newSet(n), all, newSet(n))
	}
	return f.groups, len(f.groups) < maxGroups && f.steps < maxGroupSteps
}

// groupFinder finds the maximal cliques of a graph (the algorithm of Bron and Kerbosch, with pivots).
type groupFinder struct {
	near   []set
	groups []set
	known  map[string]bool
	steps  int
}

// extend finds the groups that contain chosen, any of the candidates and none of those passed over.
func (f *groupFinder) extend(chosen, candidates, passed set) {
	f.steps++
	if f.steps > maxGroupSteps || len(f.groups) >= maxGroups {
		return
	}
	if candidates.count() == 0 {
		if passed.count() == 0 {
			f.note(chosen)
		}
		return
	}
	branches := candidates.clone()
	branches.drop(f.near[f.pivot(candidates, passed)])
	for i := branches.next(0); i >= 0; i = branches.next(i + 1) {
		with, among, beside := chosen.clone(), candidates.clone(), passed.clone()
		with.add(i)
		among.keep(f.near[i])
		beside.keep(f.near[i])
		f.extend(with, among, beside)
		candidates.remove(i)
		passed.add(i)
	}
}

// pivot is the device with the most neighbours among the candidates.
func (f *groupFinder) pivot(candidates, passed set) int {
	best, most := -1, -1
	for _, from := range []set{candidates, passed} {
		for i := from.next(0); i >= 0; i = from.next(i + 1) {
			if n := f.near[i].common(candidates); n > most {
				best, most = i, n
			}
		}
	}
	return best
}

func (f *groupFinder) note(group set) {
	if group.count() < 2 {
		return
	}
	key, _ := binary.Append(nil, binary.LittleEndian, []uint64(group)) // fails for types without a size alone
	if !f.known[string(key)] {
		f.known[string(key)] = true
		f.groups = append(f.groups, group)
	}
}

// left is how much the rest of the devices can still give to others: the number of disjoint sets of 2, of 4, of 8 and so
// on that fit in each group, summed over the groups.
func (t *Topology) left(rest set) int {
	sum := 0
	for _, group := range t.groups {
		sum += t.sets[group.common(rest)]
	}
	return sum
}

// setsOf is how many disjoint sets of 2, of 4, of 8 and so on fit in a number of devices, each size by itself.
func setsOf(devices int) int {
	sum := 0
	for size := 2; size <= devices; size *= 2 {
		sum += devices / size
	}
	return sum
}
