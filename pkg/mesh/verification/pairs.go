package verification

import (
	"cmp"
	"slices"
)

// maxPaired bounds the copies of which every two pods are measured. In larger copies the pairs are measured over
// which the rings and trees of their groups go, and only where something is wrong.
const maxPaired = 32

// pair is two places, the smaller one first.
type pair struct{ low, high int }

func pairOf(a, b int) pair { return pair{min(a, b), max(a, b)} }

// other returns the place of the pair that is not the given one.
func (p pair) other(place int) int {
	if p.low == place {
		return p.high
	}
	return p.low
}

// pairs returns the pairs of each place in the order in which it measures them: by rounds, in most of which it has a pair. All
// places order pairs by the same rounds, so that they never wait in a circle.
func (t *Task) pairs() [][]pair {
	places := len(t.Pods)
	of := make([][]pair, places)
	join := func(a, b int) {
		if p := pairOf(a, b); a != b {
			of[a], of[b] = append(of[a], p), append(of[b], p)
		}
	}
	if places <= maxPaired {
		for high := range places {
			for low := range high {
				join(low, high)
			}
		}
	} else {
		t.joinNeighbours(join)
	}
	for place := range of {
		slices.SortFunc(of[place], func(a, b pair) int {
			return cmp.Or(cmp.Compare(a.round(places), b.round(places)), cmp.Compare(a.low, b.low), cmp.Compare(a.high, b.high))
		})
		of[place] = slices.Compact(of[place])
	}
	return of
}

// joinNeighbours joins the members of each group whose distance is a power of two, as rings and binomial trees do.
func (t *Task) joinNeighbours(join func(a, b int)) {
	for _, kind := range t.shares {
		for _, group := range kind.groups {
			members := len(group.places)
			for distance := 1; distance < members; distance *= 2 {
				for at := range members {
					join(group.places[at], group.places[(at+distance)%members])
				}
			}
		}
	}
}

// round numbers the rounds of a tournament in which everybody meets everybody: the sum of two places modulo an odd number, and with an
// even number of places the last one plays who would be left over.
func (p pair) round(places int) int {
	odd := places - 1 + places%2
	if places%2 == 0 && p.high == places-1 {
		return 2 * p.low % odd
	}
	return (p.low + p.high) % odd
}
