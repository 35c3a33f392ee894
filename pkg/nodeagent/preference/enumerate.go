package preference

import (
	"math"
	"slices"
)

// improve exchanges one device of the best set after another for a better one, as long as there is any.
func (s *search) improve() {
	for better := s.best != nil; better; {
		before := s.best
		for _, out := range before.members.members() {
			if !slices.Contains(s.required, out) {
				s.exchange(before.members, out)
			}
		}
		better = s.best != before
	}
}

// exchange tries each device in the place of a member.
func (s *search) exchange(members set, out int) {
	s.reset(0)
	candidates := s.among[0]
	copy(candidates, s.alive)
	candidates.drop(members)
	for m := members.next(0); m >= 0; m = members.next(m + 1) {
		if m != out {
			s.push(m)
			candidates.keep(s.near[m])
		}
	}
	for in := candidates.next(0); in >= 0; in = candidates.next(in + 1) {
		s.looked++
		if s.with(in).compare(s.best.score) <= 0 {
			s.push(in)
			s.offer()
			s.pop()
		}
	}
}

// enumerate goes through all sets at the level, or as many as the limit allows, without those that cannot be better than
// the best.
func (s *search) enumerate() {
	candidates := s.start()
	s.limit = s.looked + s.limitFor(s.alive.count()-len(s.required), s.best != nil)
	s.least = s.leastDistance()
	copy(s.among[0], candidates)
	s.extend(0)
}

// extend adds the candidates of a depth in order. A device that was gone through stands for its twins: a set with one of
// them instead has the same score and the greater names.
func (s *search) extend(depth int) {
	missing := s.size - len(s.members)
	if missing == 0 {
		s.offer()
		return
	}
	if s.best != nil && s.bound(missing).compare(s.best.score) > 0 {
		return
	}
	candidates := s.among[depth]
	for i := candidates.next(0); i >= 0 && s.looked < s.limit; i = candidates.next(i + 1) {
		if candidates.count() < missing {
			return
		}
		s.looked++
		candidates.remove(i)
		copy(s.among[depth+1], candidates)
		s.among[depth+1].keep(s.near[i])
		s.push(i)
		s.extend(depth + 1)
		s.pop()
		candidates.drop(s.topology.twins[i])
	}
}

// bound is at most the score of any set that the partial one can become.
func (s *search) bound(missing int) score {
	b := s.score
	pairs := missing*len(s.members) + missing*(missing-1)/2
	b.sum += pairs * s.least
	return b
}

// leastDistance is the smallest distance of two devices that are alive.
func (s *search) leastDistance() int {
	least := math.MaxInt32
	for i := s.alive.next(0); i >= 0; i = s.alive.next(i + 1) {
		for j := s.alive.next(i + 1); j >= 0; j = s.alive.next(j + 1) {
			least = min(least, s.topology.distance(i, j))
		}
	}
	return least
}
