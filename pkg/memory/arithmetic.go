package memory

import "math/bits"

// maxBytes bounds every amount, 256 TiB, so that no sum over thousands of devices wraps.
const maxBytes = 1 << 48

// times multiplies amounts and stays within maxBytes; a negative amount counts as 0.
func times(a int64, rest ...int64) int64 {
	a = bounded(a)
	for _, b := range rest {
		high, low := bits.Mul64(uint64(a), uint64(max(b, 0)))
		if high > 0 || low > maxBytes {
			return maxBytes
		}
		a = int64(low)
	}
	return a
}

func bounded(bytes int64) int64 { return min(max(bytes, 0), maxBytes) }

// part returns amount x num / den, rounded down, without overflow on the way; den must be positive.
func part(amount, num, den int64) int64 {
	high, low := bits.Mul64(uint64(bounded(amount)), uint64(max(num, 0)))
	if high >= uint64(den) {
		return maxBytes
	}
	quotient, _ := bits.Div64(high, low, uint64(den))
	return int64(min(quotient, maxBytes))
}

// ceil returns a/b rounded up; a must not be negative, b must be positive.
func ceil(a, b int64) int64 { return (a + b - 1) / b }

// roundUp returns a rounded up to a multiple.
func roundUp(a, multiple int64) int64 { return ceil(a, multiple) * multiple }
