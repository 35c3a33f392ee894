package preference

// Limits of the work for one choice. Up to exactDevices devices beside the required ones, every set is looked at or ruled
// out, which takes at most 2^16 partial sets at each rate.
const (
	exactDevices = 16
	exactSets    = 1 << exactDevices
	maxSets      = 1 << 13
	maxSetsEmpty = 1 << 10
	maxGrown     = 1 << 9
)

// limitFor is how many partial sets are looked at where so many devices can be chosen from: fewer at a rate for which no
// set was found by growing, since there may be none.
func limitFor(devices int, found bool) int {
	switch {
	case devices <= exactDevices:
		return exactSets
	case found:
		return maxSets
	default:
		return maxSetsEmpty
	}
}

// search looks for the best set of a size in which no pair is slower than a level.
type search struct {
	*partial

	// free are the devices to choose from, those required among them.
	free     set
	required []int
	size     int

	// alive are the devices that may be in a set at this level; near[i] are the neighbours of device i at this level.
	alive set
	near  []set
	// least is the smallest distance of two that are alive.
	least int
	best  *choice
	// looked is the number of partial sets that were looked at, at all levels; limit is where this level's ends.
	looked, limit int
	limitFor      func(devices int, found bool) int
	among         []set // by depth
	costs         []int // of the candidates while a set grows
}

// choose returns the best set of a size out of free with all that are required, and how many partial sets it looked at.
// There must be enough devices.
func (t *Topology) choose(free, required set, size int, limitFor func(devices int, found bool) int) (choice, int) {
	n := len(t.ids)
	s := search{
		partial: t.newPartial(), free: free, required: required.members(), size: size,
		near: make([]set, n), among: make([]set, size+1), limitFor: limitFor, costs: make([]int, n),
	}
	words := make(set, (n+size+1)*len(free))
	for i := range s.near {
		s.near[i], words = words[:len(free)], words[len(free):]
	}
	for i := range s.among {
		s.among[i], words = words[:len(free)], words[len(free):]
	}
	for level := range max(1, t.levels) {
		if !s.narrow(level) {
			continue
		}
		s.grow()
		s.improve()
		s.enumerate()
		if s.best != nil {
			return *s.best, s.looked
		}
	}
	// Unreachable while the slowest level holds every pair, as rank makes it.
	return choice{members: free}, s.looked
}

// narrow finds the devices that have enough neighbours at a level; it is false where no set can be there.
func (s *search) narrow(level int) bool {
	s.alive = s.free.clone()
	for i := s.free.next(0); i >= 0; i = s.free.next(i + 1) {
		clear(s.near[i])
		for j := s.free.next(0); j >= 0; j = s.free.next(j + 1) {
			if i != j && s.topology.level(i, j) <= level {
				s.near[i].add(j)
			}
		}
	}
	for _, r := range s.required {
		s.near[r].add(r)
		s.alive.keep(s.near[r])
		s.near[r].remove(r)
	}
	for removed := true; removed; {
		removed = false
		for i := s.alive.next(0); i >= 0; i = s.alive.next(i + 1) {
			if s.near[i].common(s.alive) < s.size-1 {
				s.alive.remove(i)
				removed = true
			}
		}
	}
	for _, r := range s.required {
		if !s.alive.has(r) {
			return false
		}
	}
	return s.alive.count() >= s.size
}

// start makes the set of the required devices, and returns those that can be added.
func (s *search) start() set {
	s.reset(0)
	candidates := s.alive.clone()
	for _, r := range s.required {
		s.push(r)
		candidates.keep(s.near[r])
	}
	return candidates
}

// grow makes a set from each device, by adding what keeps the score smallest; of large sets it makes fewer, from devices
// all over the node.
func (s *search) grow() {
	candidates := s.start()
	if len(s.required) == s.size {
		s.offer()
		return
	}
	var seeds []int
	left := candidates.clone()
	for seed := left.next(0); seed >= 0; seed = left.next(0) {
		left.drop(s.topology.twins[seed])
		seeds = append(seeds, seed)
	}
	every := (len(seeds)*s.size + maxGrown - 1) / maxGrown
	for at := 0; at < len(seeds); at += every {
		s.growFrom(seeds[at], candidates)
		s.reset(len(s.required))
	}
}

func (s *search) growFrom(seed int, candidates set) {
	among := s.among[0]
	copy(among, candidates)
	for i := among.next(0); i >= 0; i = among.next(i + 1) {
		s.costs[i] = s.cost(i)
	}
	for next := seed; next >= 0; next = s.closest(among) {
		s.push(next)
		s.looked++
		if len(s.members) == s.size {
			s.offer()
			return
		}
		among.keep(s.near[next])
		row := s.topology.distances[next*len(s.costs):]
		for i := among.next(0); i >= 0; i = among.next(i + 1) {
			s.costs[i] += int(row[i])
		}
	}
}

// closest is the candidate that keeps the score smallest, or -1 where there is none.
func (s *search) closest(candidates set) int {
	best, least := -1, score{}
	for i := candidates.next(0); i >= 0; i = candidates.next(i + 1) {
		if with := s.at(i, s.costs[i]); best < 0 || with.compare(least) < 0 {
			best, least = i, with
		}
	}
	return best
}

// offer makes the set that was grown the best one where it is better.
func (s *search) offer() {
	if s.best != nil && s.compare(s.best.score) > 0 {
		return
	}
	found := &choice{score: s.score, members: newSet(len(s.topology.ids))}
	rest := s.free.clone()
	for _, m := range s.members {
		found.members.add(m)
		rest.remove(m)
	}
	found.left = s.topology.left(rest)
	if s.best == nil || found.better(s.best) {
		s.best = found
	}
}
