package preference

import "math/bits"

// set is a set of devices by their numbers in a Topology, 64 to a word.
type set []uint64

func newSet(devices int) set { return make(set, (devices+63)/64) }

func (s set) has(i int) bool { return s[i>>6]&(1<<(i&63)) != 0 }
func (s set) add(i int)      { s[i>>6] |= 1 << (i & 63) }
func (s set) remove(i int)   { s[i>>6] &^= 1 << (i & 63) }

func (s set) clone() set { return append(set(nil), s...) }

func (s set) count() int {
	n := 0
	for _, word := range s {
		n += bits.OnesCount64(word)
	}
	return n
}

// common is the number of members that both have.
func (s set) common(other set) int {
	n := 0
	for w, word := range s {
		n += bits.OnesCount64(word & other[w])
	}
	return n
}

// keep removes what other does not have.
func (s set) keep(other set) {
	for w := range s {
		s[w] &= other[w]
	}
}

// drop removes what other has.
func (s set) drop(other set) {
	for w := range s {
		s[w] &^= other[w]
	}
}

// next returns the first member that is at least i, or -1.
func (s set) next(i int) int {
	for w := i >> 6; w < len(s); w++ {
		word := s[w]
		if w == i>>6 {
			word &= ^uint64(0) << (i & 63)
		}
		if word != 0 {
			return w<<6 + bits.TrailingZeros64(word)
		}
	}
	return -1
}

// members are the members in ascending order.
func (s set) members() []int {
	var all []int
	for i := s.next(0); i >= 0; i = s.next(i + 1) {
		all = append(all, i)
	}
	return all
}

// before says whether the sorted members come first in the order of words, for sets of equal size: the least member that
// only one of them has is in it.
func (s set) before(other set) bool {
	for w, word := range s {
		if differ := word ^ other[w]; differ != 0 {
			return word&(differ&-differ) != 0
		}
	}
	return false
}
