package model

import (
	"math"
	"math/bits"
)

// mul is a*b for values that are not negative, saturated at the largest int64. A negative factor counts as 0.
func mul(a, b int64) int64 {
	if a <= 0 || b <= 0 {
		return 0
	}
	high, low := bits.Mul64(uint64(a), uint64(b))
	if high > 0 || low > math.MaxInt64 {
		return math.MaxInt64
	}
	return int64(low)
}

// add is a+b for values that are not negative, saturated at the largest int64.
func add(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// ceil is a/b rounded up; b below 1 counts as 1.
func ceil(a, b int64) int64 {
	b = max(1, b)
	return a/b + min(1, a%b)
}
