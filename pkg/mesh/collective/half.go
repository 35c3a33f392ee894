package collective

import "math"

const quietNaN = 0x7fc00000 // FP32

// Conversions of IEEE 754 binary16 and of bfloat16, the upper half of binary32. To the narrower type they round to
// nearest, ties to even; every NaN becomes the one quiet NaN, so that results do not depend on a rank's processor.

func fromHalf(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	bits := uint32(h&0x7fff) << 13
	if bits >= 0x7c00<<13 { // infinity and NaN keep the largest exponent
		return math.Float32frombits(sign | 0x7f800000 | bits)
	}
	// The exponents' biases differ by 112; the product makes subnormal numbers normal.
	return math.Float32frombits(sign | math.Float32bits(math.Float32frombits(bits)*0x1p112))
}

func toHalf(f float32) uint16 {
	bits := math.Float32bits(f)
	sign := uint16(bits >> 16 & 0x8000)
	bits &= 0x7fffffff
	switch {
	case bits > 0x7f800000:
		return 0x7e00
	case bits >= 0x477ff000: // 65520, half-way between the largest number and what would follow it
		return sign | 0x7c00
	case bits < 0x38800000: // below 2^-14: adding 0.5 rounds to a multiple of 2^-24, the smallest number
		return sign | uint16(math.Float32bits(math.Float32frombits(bits)+0.5)-0x3f000000)
	}
	bits += 0xfff + bits>>13&1
	return sign | uint16((bits-0x38000000)>>13)
}

func fromBrain(b uint16) float32 { return math.Float32frombits(uint32(b) << 16) }

func toBrain(f float32) uint16 {
	bits := math.Float32bits(f)
	if bits&0x7fffffff > 0x7f800000 {
		return quietNaN >> 16
	}
	return uint16((bits + 0x7fff + bits>>16&1) >> 16)
}

// sortable maps the bits of a number to an integer that orders like the number, -0 below +0. The function is its own inverse.
func sortable(bits uint32) int32 {
	signed := int32(bits)
	return signed ^ (signed >> 31 & math.MaxInt32)
}

// toKey is sortable with every NaN mapped to nan, the key that wins: the smallest for minima, the largest for maxima.
func toKey(f float32, nan int32) int32 {
	if f != f {
		return nan
	}
	return sortable(math.Float32bits(f))
}

// fromKey is the inverse of toKey; the keys of NaNs give the quiet NaN.
func fromKey(key int32) float32 {
	bits := uint32(sortable(uint32(key)))
	if bits&0x7fffffff > 0x7f800000 {
		bits = quietNaN
	}
	return math.Float32frombits(bits)
}
