// Package traffic has what verification sends: words that tell where they belong, so that other ones are seen, and the rates at which
// they went. Both ends of a link, and the program that asks a library of devices, mean the same by it.
package traffic

import (
	"bytes"
	"encoding/binary"
)

// WordBytes is the size of a word, an INT64 in the machine's byte order.
const WordBytes = 8

// word is what a member sends at a place: a whole number that tells member, call (by its seed) and place apart, so that bytes of
// another member, call or place, and changed ones, are seen. Numbers are below 2^24 and sums of 2^20 of them below 2^44.
func word(seed uint64, member, at int) int64 {
	x := seed ^ uint64(member+1)*0x9e3779b97f4a7c15 ^ uint64(at)*0xbf58476d1ce4e5b9
	x ^= x >> 31
	x *= 0x94d049bb133111eb // the multipliers of SplitMix64 (Steele, Lea, Flood 2014)
	return int64(x >> 40)
}

// Pattern returns so many bytes of what a member sends. A longer pattern begins as a shorter one.
func Pattern(size int, seed uint64, member int) []byte { return Contribution(size, seed, member, 1) }

// Contribution returns so many bytes of what a member adds to a sum that has its pattern so many times.
func Contribution(size int, seed uint64, member, times int) []byte {
	buffer := make([]byte, size)
	for at := range size / WordBytes {
		binary.NativeEndian.PutUint64(buffer[at*WordBytes:], uint64(int64(times)*word(seed, member, at)))
	}
	return buffer
}

// IsPattern says whether a buffer is a member's pattern.
func IsPattern(buffer []byte, seed uint64, member int) bool {
	return bytes.Equal(buffer, Pattern(len(buffer), seed, member))
}

// IsSum says whether words from a place on are the sums of what members contribute, each so many times.
func IsSum(buffer []byte, seed uint64, from int, times []int) bool {
	for at := range len(buffer) / WordBytes {
		var sum int64
		for member, n := range times {
			sum += int64(n) * word(seed, member, from+at)
		}
		if int64(binary.NativeEndian.Uint64(buffer[at*WordBytes:])) != sum {
			return false
		}
	}
	return true
}
