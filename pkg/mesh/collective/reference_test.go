package collective

import (
	"encoding/binary"
	"math"
	"math/big"
)

// The reference does everything one element after the other, in float64 or with integers of any size, and shares nothing
// with the package but the names of types. Inputs are such that sums and products of FP numbers are exact in FP32.

// decodeFloat returns an element as a number that float64 holds exactly.
func decodeFloat(dtype DType, raw []byte) float64 {
	switch dtype {
	case FP32:
		return float64(math.Float32frombits(binary.NativeEndian.Uint32(raw)))
	case BF16:
		return float64(math.Float32frombits(uint32(binary.NativeEndian.Uint16(raw)) << 16))
	default:
		return halfValue(binary.NativeEndian.Uint16(raw))
	}
}

// halfValue reads binary16 by its definition.
func halfValue(h uint16) float64 {
	sign := 1.0
	if h>>15 == 1 {
		sign = -1
	}
	exponent, fraction := int(h>>10&31), float64(h&1023)
	switch exponent {
	case 0:
		return sign * math.Ldexp(fraction, -24)
	case 31:
		if fraction > 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(1024+fraction, exponent-25)
}

// encodeFloat rounds to nearest, ties to even, by search over what the type can say.
func encodeFloat(dtype DType, value float64) []byte {
	raw := make([]byte, dtype.Size())
	switch dtype {
	case FP32:
		binary.NativeEndian.PutUint32(raw, math.Float32bits(float32(value)))
	case BF16:
		binary.NativeEndian.PutUint16(raw, nearest(value, 0x7f80, 0x7fc0, func(b uint16) float64 {
			return float64(math.Float32frombits(uint32(b) << 16))
		}))
	default:
		binary.NativeEndian.PutUint16(raw, nearest(value, 0x7c00, 0x7e00, halfValue))
	}
	return raw
}

// nearest is the 16-bit number whose value is nearest. Positive ones ascend with their bits up to infinity, which counts
// as the number that would follow the largest.
func nearest(value float64, infinity, nan uint16, valueOf func(uint16) float64) uint16 {
	if math.IsNaN(value) {
		return nan
	}
	sign := uint16(0)
	if math.Signbit(value) {
		sign = 0x8000
		value = -value
	}
	of := func(b uint16) float64 {
		if b == infinity {
			return 2*valueOf(infinity-1) - valueOf(infinity-2)
		}
		return valueOf(b)
	}
	low, high := uint16(0), infinity // of(low) <= value unless value is beyond all
	for high-low > 1 {
		middle := low + (high-low)/2
		if of(middle) <= value {
			low = middle
		} else {
			high = middle
		}
	}
	below, above := value-of(low), of(high)-value
	if above < below || above == below && low&1 == 1 {
		low = high
	}
	return sign | low
}

func integer(dtype DType, raw []byte) *big.Int {
	switch dtype {
	case INT32:
		return big.NewInt(int64(int32(binary.NativeEndian.Uint32(raw))))
	case INT64:
		return big.NewInt(int64(binary.NativeEndian.Uint64(raw)))
	default:
		return big.NewInt(int64(raw[0]))
	}
}

func encodeInteger(dtype DType, value *big.Int) []byte {
	modulus := new(big.Int).Lsh(big.NewInt(1), uint(8*dtype.Size()))
	wrapped := new(big.Int).Mod(value, modulus).Uint64()
	raw := make([]byte, 8)
	binary.LittleEndian.PutUint64(raw, wrapped)
	switch dtype {
	case INT32:
		binary.NativeEndian.PutUint32(raw, uint32(wrapped))
	case INT64:
		binary.NativeEndian.PutUint64(raw, wrapped)
	}
	return raw[:dtype.Size()]
}

// combineSerially is the result of a reduction of the inputs.
func combineSerially(dtype DType, op Op, inputs [][]byte) []byte {
	size := dtype.Size()
	var result []byte
	for at := 0; at < len(inputs[0]); at += size {
		column := make([][]byte, len(inputs))
		for i, input := range inputs {
			column[i] = input[at : at+size]
		}
		if dtype == FP32 || dtype == FP16 || dtype == BF16 {
			result = append(result, encodeFloat(dtype, combineFloats(dtype, op, column))...)
		} else {
			result = append(result, encodeInteger(dtype, combineIntegers(dtype, op, column))...)
		}
	}
	return result
}

func combineFloats(dtype DType, op Op, column [][]byte) float64 {
	total := decodeFloat(dtype, column[0])
	for _, raw := range column[1:] {
		v := decodeFloat(dtype, raw)
		switch op {
		case Sum, Average:
			total += v
		case Product:
			total *= v
		case Min:
			total = math.Min(total, v) // with NaN and -0 as IEEE 754-2019 has them
		case Max:
			total = math.Max(total, v)
		}
	}
	if op == Average {
		total = float64(float32(total) / float32(len(column)))
	}
	return total
}

func combineIntegers(dtype DType, op Op, column [][]byte) *big.Int {
	total := integer(dtype, column[0])
	for _, raw := range column[1:] {
		v := integer(dtype, raw)
		switch {
		case op == Sum || op == Average:
			total.Add(total, v)
		case op == Product:
			total.Mul(total, v)
		case op == Min && v.Cmp(total) < 0, op == Max && v.Cmp(total) > 0:
			total = v
		}
	}
	if op == Average {
		total.Quo(total, big.NewInt(int64(len(column))))
	}
	return total
}
