package collective

import (
	"fmt"
	"math"
	"math/bits"
)

// Reduction says how an operation on a type is done by one of the four additions, multiplications, minima and maxima of
// Wire, so that every transport gives the same results: which elements travel, and how they are made and read.
//
//	FP16, BF16                travel as FP32, and are rounded once, at the end
//	Min, Max of FP numbers    travel as INT32 that order like them, every NaN as the one that wins
//	Average of UINT8, INT32   travel as INT32, INT64, whose sums cannot overflow in a mesh
//	Average of INT64          travels as two INT64: the upper and the lower 32 bits
type Reduction struct {
	// Wire and Op are what is done to the elements that travel.
	Wire DType
	Op   Op
	// WireSize is the bytes that travel for an element.
	WireSize int

	combine        kernel
	encode, decode conversion // nil: elements travel as they are
}

// reductionOf returns how an operation on a type is done. It refuses types and operations that are not known.
func reductionOf(dtype DType, op Op) (Reduction, error) {
	if dtype.Size() == 0 {
		return Reduction{}, fmt.Errorf("dtype is %s: use one of %v", dtype, DTypes())
	}
	if _, ok := ops[op]; !ok {
		return Reduction{}, fmt.Errorf("op is %s: use one of %v", op, Ops())
	}
	r := Reduction{Wire: dtype, Op: op, WireSize: dtype.Size()}
	if op == Average {
		r.Op = Sum
	}
	if c := &codes[dtype][op]; c.size > 0 {
		r.Wire, r.WireSize, r.encode, r.decode = c.wire, c.size, c.encode, c.decode
	}
	r.combine = kernels[r.Wire][r.Op]
	return r, nil
}

// code is how elements travel that do not travel as they are: their type, its bytes for an element, and the ways there and back.
type code struct {
	wire           DType
	size           int
	encode, decode conversion
}

var codes = [UINT8 + 1][Average + 1]code{
	FP32: {Min: keys(math.MinInt32), Max: keys(math.MaxInt32), Average: {FP32, 4, nil, quotients}},
	FP16: narrow(fromHalf, toHalf),
	BF16: narrow(fromBrain, toBrain),
	UINT8: {Average: {INT32, 4, convert(func(v uint8) int32 { return int32(v) }), func(values, wire []byte, ranks int) {
		convert(func(v int32) uint8 { return uint8(int(v) / ranks) })(values, wire, ranks)
	}}},
	INT32: {Average: {INT64, 8, convert(func(v int32) int64 { return int64(v) }), func(values, wire []byte, ranks int) {
		convert(func(v int64) int32 { return int32(v / int64(ranks)) })(values, wire, ranks)
	}}},
	INT64: {Average: {INT64, 16, splitHalves, joinHalves}},
}

// quotients divides sums of FP32.
func quotients(values, wire []byte, ranks int) {
	divisor := float32(ranks)
	convert(func(f float32) float32 { return f / divisor })(values, wire, ranks)
}

// keys is the code of minima or maxima of FP32, where every NaN becomes the key that wins.
func keys(nan int32) code {
	return code{INT32, 4, convert(func(f float32) int32 { return toKey(f, nan) }), convert(fromKey)}
}

// narrow are the codes of a 16-bit type.
func narrow(from func(uint16) float32, to func(float32) uint16) [Average + 1]code {
	rounded := code{FP32, 4, convert(from), convert(to)}
	return [Average + 1]code{
		Sum: rounded, Product: rounded, Min: narrowKeys(from, to, math.MinInt32), Max: narrowKeys(from, to, math.MaxInt32),
		Average: {FP32, 4, rounded.encode, func(values, wire []byte, ranks int) {
			divisor := float32(ranks)
			convert(func(f float32) uint16 { return to(f / divisor) })(values, wire, ranks)
		}},
	}
}

func narrowKeys(from func(uint16) float32, to func(float32) uint16, nan int32) code {
	return code{INT32, 4, convert(func(h uint16) int32 { return toKey(from(h), nan) }), convert(func(key int32) uint16 { return to(fromKey(key)) })}
}

var kernels = [UINT8 + 1][Average + 1]kernel{
	FP32:  {Sum: sum[float32], Product: product[float32]},
	INT32: {Sum: sum[int32], Product: product[int32], Min: minimum[int32], Max: maximum[int32]},
	INT64: {Sum: sum[int64], Product: product[int64], Min: minimum[int64], Max: maximum[int64]},
	UINT8: {Sum: sum[uint8], Product: product[uint8], Min: minimum[uint8], Max: maximum[uint8]},
}

// Encode writes the elements that travel for values. Both may be one buffer where an element's size does not change.
func (r *Reduction) Encode(wire, values []byte) {
	if r.encode == nil {
		copy(wire, values)
		return
	}
	r.encode(wire, values, 1)
}

// Decode writes the values that elements which travelled mean after they were combined over so many ranks.
func (r *Reduction) Decode(values, wire []byte, ranks int) {
	if r.decode == nil {
		copy(values, wire)
		return
	}
	r.decode(values, wire, ranks)
}

// splitHalves writes the upper 32 bits, which have the sign, and the lower ones. A mesh's ranks are too few for sums of
// either to overflow.
func splitHalves(wire, values []byte, _ int) {
	halves := view[int64](wire)
	for i, v := range view[int64](values) {
		halves[2*i], halves[2*i+1] = v>>32, v&math.MaxUint32
	}
}

func joinHalves(values, wire []byte, ranks int) {
	halves := view[int64](wire)
	averages := view[int64](values)
	for i := range averages {
		averages[i] = divide128(halves[2*i], halves[2*i+1], ranks)
	}
}

// divide128 is (upper*2^32 + lower) / ranks, truncated toward zero. The quotient of a sum of that many numbers fits.
func divide128(upper, lower int64, ranks int) int64 {
	high, low := upper>>32, uint64(upper)<<32
	low, carry := bits.Add64(low, uint64(lower), 0)
	high += int64(carry)
	negative := high < 0
	magnitude := uint64(high)
	if negative {
		var borrow uint64
		low, borrow = bits.Sub64(0, low, 0)
		magnitude, _ = bits.Sub64(0, magnitude, borrow)
	}
	quotient, _ := bits.Div64(magnitude, low, uint64(ranks))
	if negative {
		return -int64(quotient)
	}
	return int64(quotient)
}
