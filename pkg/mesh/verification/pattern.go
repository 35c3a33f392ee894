package verification

import (
	"bytes"
	"encoding/binary"
)

// pattern is what a pod sends: whole numbers that tell member, call and place apart, so that bytes of another member, call or
// place, and changed ones, are seen. Numbers are below 2^24 and sums of 2^20 of them below 2^44.
func pattern(seed uint64, member, at int) int64 {
	x := seed ^ uint64(member)*0x9e3779b97f4a7c15 ^ uint64(at)*0xbf58476d1ce4e5b9
	x ^= x >> 31
	x *= 0x94d049bb133111eb // the multipliers of SplitMix64 (Steele, Lea, Flood 2014)
	return int64(x >> 40)
}

// fill writes a member's pattern as INT64.
func fill(buffer []byte, seed uint64, member int) {
	for at := range len(buffer) / wordBytes {
		binary.NativeEndian.PutUint64(buffer[at*wordBytes:], uint64(pattern(seed, member, at)))
	}
}

const wordBytes = 8

// filled is a new buffer with a member's pattern.
func filled(size int, seed uint64, member int) []byte {
	buffer := make([]byte, size)
	fill(buffer, seed, member)
	return buffer
}

// sequence is a member's pattern, made once as far as it was needed: a longer buffer begins as a shorter one.
type sequence struct {
	seed   uint64
	member int
	made   []byte
}

// first is the beginning of the pattern in so many bytes.
func (s *sequence) first(size int) []byte {
	if size > len(s.made) {
		s.made = filled(size, s.seed, s.member)
	}
	return s.made[:size]
}

// isPattern says whether a buffer is a member's pattern.
func isPattern(buffer []byte, seed uint64, member int) bool {
	return bytes.Equal(buffer, filled(len(buffer), seed, member))
}

// isSum says whether words from a place on are the sums of what members contribute, each as often as it has ranks.
func isSum(buffer []byte, seed uint64, from int, ranks []int) bool {
	for at := range len(buffer) / wordBytes {
		var sum int64
		for member, times := range ranks {
			sum += int64(times) * pattern(seed, member, from+at)
		}
		if int64(binary.NativeEndian.Uint64(buffer[at*wordBytes:])) != sum {
			return false
		}
	}
	return true
}

// contribute writes what a pod with so many ranks adds to a sum.
func contribute(buffer []byte, seed uint64, member, ranks int) {
	for at := range len(buffer) / wordBytes {
		binary.NativeEndian.PutUint64(buffer[at*wordBytes:], uint64(int64(ranks)*pattern(seed, member, at)))
	}
}
