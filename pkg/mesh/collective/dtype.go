package collective

import "fmt"

// DType is the type of a buffer's elements. Elements have the byte order of the machine, which is the same on all ranks.
type DType uint8

// The types of elements.
const (
	FP32 DType = iota + 1
	FP16
	BF16
	INT32
	INT64
	UINT8
)

// Op combines the elements of all ranks into one.
type Op uint8

// The operations. Sums and products of integers wrap around, as the arithmetic of their type does; an Average of integers
// is exact and truncates toward zero. Min and Max follow minimum and maximum of IEEE 754-2019: a NaN on any rank
// gives NaN, and -0 is smaller than +0.
const (
	Sum Op = iota + 1
	Product
	Min
	Max
	Average
)

var dtypes = map[DType]struct {
	name string
	size int
}{
	FP32: {"FP32", 4}, FP16: {"FP16", 2}, BF16: {"BF16", 2}, INT32: {"INT32", 4}, INT64: {"INT64", 8}, UINT8: {"UINT8", 1},
}

var ops = map[Op]string{Sum: "Sum", Product: "Product", Min: "Min", Max: "Max", Average: "Average"}

// DTypes returns all types of elements.
func DTypes() []DType { return []DType{FP32, FP16, BF16, INT32, INT64, UINT8} }

// Ops returns all operations.
func Ops() []Op { return []Op{Sum, Product, Min, Max, Average} }

// Size returns the size of an element in bytes; 0 for a type that is not known.
func (d DType) Size() int { return dtypes[d].size }

func (d DType) String() string {
	if t, ok := dtypes[d]; ok {
		return t.name
	}
	return fmt.Sprintf("DType(%d)", uint8(d))
}

func (o Op) String() string {
	if name, ok := ops[o]; ok {
		return name
	}
	return fmt.Sprintf("Op(%d)", uint8(o))
}
