package collective

import (
	"bytes"
	"context"
	"encoding/binary"
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// reduceOne is the all-reduce of one element of each rank, on all transports and with both algorithms' paths alike.
func reduceOne(t *testing.T, dtype DType, op Op, inputs [][]byte) []byte {
	t.Helper()
	var result []byte
	for name, make := range transports {
		groups := worldGroups(make(t, len(inputs)))
		for _, copies := range []int{1, 64 << 10 / dtype.Size()} {
			buffers := make2(inputs, copies)
			mustAll(t, name, groups, func(ctx context.Context, i int, g Group) error {
				return g.AllReduce(ctx, buffers[i], dtype, op)
			})
			if result == nil {
				result = slices.Clone(buffers[0][:dtype.Size()])
			}
			for i, got := range buffers {
				if !bytes.Equal(got, bytes.Repeat(result, copies)) {
					t.Fatalf("%s, %d elements: rank %d has other bytes", name, copies, i)
				}
			}
		}
	}
	return result
}

func make2(inputs [][]byte, copies int) [][]byte {
	buffers := make([][]byte, len(inputs))
	for i, input := range inputs {
		buffers[i] = bytes.Repeat(input, copies)
	}
	return buffers
}

func floats(dtype DType, values ...float64) [][]byte {
	var out [][]byte
	for _, v := range values {
		out = append(out, encodeFloat(dtype, v))
	}
	return out
}

func TestFloatsAtTheEdges(t *testing.T) {
	nan, inf, zero := math.NaN(), math.Inf(1), math.Copysign(0, -1)
	for _, test := range []struct {
		dtypes []DType
		op     Op
		inputs []float64
		want   float64
	}{
		{[]DType{FP32, FP16, BF16}, Min, []float64{1, nan, -2}, nan},
		{[]DType{FP32, FP16, BF16}, Max, []float64{nan, 1, inf}, nan},
		{[]DType{FP32, FP16, BF16}, Min, []float64{inf, 3, inf}, 3},
		{[]DType{FP32, FP16, BF16}, Max, []float64{-inf, -3, -inf}, -3},
		{[]DType{FP32, FP16, BF16}, Min, []float64{0, zero, 0}, zero},
		{[]DType{FP32, FP16, BF16}, Max, []float64{zero, 0, zero}, 0},
		{[]DType{FP32, FP16, BF16}, Sum, []float64{inf, 1, -inf}, nan},
		{[]DType{FP32, FP16, BF16}, Sum, []float64{nan, 1, 1}, nan},
		// In binary16 itself 2048+1 is 2048, and 60000+60000 overflows.
		{[]DType{FP16}, Sum, []float64{2048, 1, 1, 1}, 2052},
		{[]DType{FP16}, Sum, []float64{60000, 60000, -60000}, 60000},
		{[]DType{FP16}, Average, []float64{60000, 60000, 60000}, 60000},
		{[]DType{FP16}, Product, []float64{1000, 1000, 0.0009765625}, 976.5},
		{[]DType{FP16}, Sum, []float64{65504, 65504}, inf},
		// In bfloat16 256+1 is 256.
		{[]DType{BF16}, Sum, []float64{256, 1, 1, 1}, 260},
	} {
		for _, dtype := range test.dtypes {
			got := reduceOne(t, dtype, test.op, floats(dtype, test.inputs...))
			value, want := decodeFloat(dtype, got), test.want
			if math.IsNaN(want) != math.IsNaN(value) || !math.IsNaN(want) && math.Float64bits(value) != math.Float64bits(want) {
				t.Errorf("%s of %s %v: got %v, want %v", test.op, dtype, test.inputs, value, want)
			}
		}
	}
}

func TestIntegersAtTheEdges(t *testing.T) {
	for _, test := range []struct {
		dtype  DType
		op     Op
		inputs []int64
		want   int64
	}{
		{INT32, Average, []int64{-3, -4}, -3},
		{INT32, Average, []int64{3, 4}, 3},
		{INT32, Average, []int64{math.MaxInt32, math.MaxInt32, math.MaxInt32 - 1}, math.MaxInt32 - 1},
		{INT64, Average, []int64{math.MaxInt64, math.MaxInt64}, math.MaxInt64},
		{INT64, Average, []int64{math.MinInt64, math.MinInt64, math.MinInt64}, math.MinInt64},
		{INT64, Average, []int64{math.MinInt64, math.MaxInt64}, 0},
		{INT64, Average, []int64{-1, 0, 0, 0}, 0},
		{UINT8, Average, []int64{255, 255, 254}, 254},
		{UINT8, Sum, []int64{200, 100}, 44},
		{INT32, Sum, []int64{math.MaxInt32, 1}, math.MinInt32},
		{INT64, Product, []int64{math.MaxInt64, 2}, -2},
	} {
		var inputs [][]byte
		for _, v := range test.inputs {
			raw := binary.NativeEndian.AppendUint64(nil, uint64(v))
			if raw[0] != byte(v) {
				t.Skip("the test's buffers are those of little-endian machines")
			}
			inputs = append(inputs, raw[:test.dtype.Size()])
		}
		got := integer(test.dtype, reduceOne(t, test.dtype, test.op, inputs)).Int64()
		if got != test.want {
			t.Errorf("%s of %s %v: got %d, want %d", test.op, test.dtype, test.inputs, got, test.want)
		}
	}
}

func TestNarrowTypesConvertBothWays(t *testing.T) {
	for b := range 1 << 16 {
		for dtype, f := range map[DType]float32{FP16: fromHalf(uint16(b)), BF16: fromBrain(uint16(b))} {
			raw := binary.NativeEndian.AppendUint16(nil, uint16(b))
			want := decodeFloat(dtype, raw)
			if math.IsNaN(want) {
				if f == f {
					t.Errorf("%s %#x: got %v, want NaN", dtype, b, f)
				}
				continue
			}
			if float64(f) != want || math.Signbit(float64(f)) != math.Signbit(want) {
				t.Errorf("%s %#x: got %v, want %v", dtype, b, f, want)
			}
			to := map[DType]func(float32) uint16{FP16: toHalf, BF16: toBrain}[dtype]
			if back := to(f); back != uint16(b) {
				t.Errorf("%s %#x comes back as %#x", dtype, b, back)
			}
		}
	}
}

func TestNarrowTypesRoundToNearest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := math.Float32frombits(rapid.Uint32().Draw(t, "bits"))
		if rapid.Bool().Draw(t, "in the range of FP16") {
			f = float32(math.Ldexp(float64(rapid.IntRange(-1<<20, 1<<20).Draw(t, "number")), rapid.IntRange(-46, -3).Draw(t, "exponent")))
		}
		for dtype, got := range map[DType]uint16{FP16: toHalf(f), BF16: toBrain(f)} {
			if want := binary.NativeEndian.Uint16(encodeFloat(dtype, float64(f))); got != want {
				t.Fatalf("%v (%#x) as %s is %#x, want %#x", f, math.Float32bits(f), dtype, got, want)
			}
		}
	})
}

func TestKeysOrderLikeNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Float32().Draw(t, "a"), rapid.Float32().Draw(t, "b")
		ka, kb := toKey(a, 0), toKey(b, 0)
		if a < b && ka >= kb || a > b && ka <= kb {
			t.Fatalf("%v has key %d and %v has key %d", a, ka, b, kb)
		}
		if back := fromKey(ka); math.Float32bits(back) != math.Float32bits(a) {
			t.Fatalf("%v comes back as %v", a, back)
		}
	})
}

func TestChunksCoverEverythingOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		elements, members := rapid.IntRange(0, 1000).Draw(t, "elements"), rapid.IntRange(1, 70).Draw(t, "members")
		next := 0
		for m := range members {
			s := chunk(elements, members, m)
			if size := s.to - s.from; s.from != next || size < elements/members || size > elements/members+1 {
				t.Fatalf("chunk %d of %d is %v after %d", m, elements, s, next)
			}
			next = s.to
		}
		if next != elements {
			t.Fatalf("%d elements are left", elements-next)
		}
	})
}

func TestTreesReachAllOnce(t *testing.T) {
	for members := 1; members <= 130; members++ {
		reached := make([]int, members)
		for m := range members {
			end, last := subtreeEnd(m, members), m+1
			_ = children(m, members, func(child, childEnd int) error {
				last = childEnd
				reached[child]++
				if parent(child) != m {
					t.Errorf("parent of %d is %d, want %d", child, parent(child), m)
				}
				return nil
			})
			if end != last {
				t.Errorf("subtree of %d in %d ends before %d, want %d", m, members, end, last)
			}
		}
		for m, times := range reached {
			if times != min(m, 1) {
				t.Errorf("%d members: %d is reached %d times", members, m, times)
			}
		}
	}
}

// Any FP32 numbers, rounding and all: every rank has the same bits, near what float64 gives.
func TestSumsAreBitIdentical(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members := rapid.IntRange(2, 6).Draw(t, "members")
		count := rapid.SampledFrom([]int{1, 2, 100, 7_001}).Draw(t, "count")
		random := seeded(rapid.Int().Draw(t, "seed"))
		op := rapid.SampledFrom([]Op{Sum, Average}).Draw(t, "op")
		dtype := rapid.SampledFrom([]DType{FP32, FP16, BF16}).Draw(t, "dtype")
		world, err := Local(members)
		if err != nil {
			t.Fatal(err)
		}
		defer closeAll(world)
		buffers, want, most := make([][]byte, members), make([]float64, count), make([]float64, count)
		for i := range buffers {
			for at := range count {
				raw := encodeFloat(dtype, random.NormFloat64()*100)
				buffers[i] = append(buffers[i], raw...)
				want[at] += decodeFloat(dtype, raw)
				most[at] += math.Abs(decodeFloat(dtype, raw))
			}
		}
		for _, err := range onAll(worldGroups(world), func(i int, g Group) error {
			return g.AllReduce(context.Background(), buffers[i], dtype, op)
		}) {
			if err != nil {
				t.Fatal(err)
			}
		}
		unit := map[DType]float64{FP32: 0x1p-24, FP16: 0x1p-11, BF16: 0x1p-8}[dtype]
		for at := range count {
			got, exact := decodeFloat(dtype, buffers[0][at*dtype.Size():]), want[at]
			bound := most[at] * 0x1p-24 * float64(members)
			if op == Average {
				exact, bound = exact/float64(members), bound/float64(members)
			}
			if math.Abs(got-exact) > bound+unit*(math.Abs(exact)+bound)+0x1p-24 {
				t.Fatalf("element %d is %v, want about %v", at, got, exact)
			}
		}
		for i := range buffers {
			if !bytes.Equal(buffers[i], buffers[0]) {
				t.Fatalf("rank %d has other bits than rank 0", i)
			}
		}
	})
}
