package collective

import "unsafe"

type number interface {
	float32 | int32 | int64 | uint8 | uint16
}

// view is a buffer as numbers of the machine's byte order. What does not fill a number is left out. amd64 and arm64 read
// numbers at any address.
func view[T number](buffer []byte) []T {
	var zero T
	length := len(buffer) / int(unsafe.Sizeof(zero))
	if length == 0 {
		return nil // its address may be that of something smaller
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(buffer))), length)
}

// kernel combines two buffers of equal length element by element. The result may be one of them.
type kernel func(result, a, b []byte)

// The slices are cut to one length first, so that the loops have no bounds to check.

func sum[T number](result, a, b []byte) {
	r := view[T](result)
	x, y := view[T](a)[:len(r)], view[T](b)[:len(r)]
	for i := range r {
		r[i] = x[i] + y[i]
	}
}

func product[T number](result, a, b []byte) {
	r := view[T](result)
	x, y := view[T](a)[:len(r)], view[T](b)[:len(r)]
	for i := range r {
		r[i] = x[i] * y[i]
	}
}

func minimum[T number](result, a, b []byte) {
	r := view[T](result)
	x, y := view[T](a)[:len(r)], view[T](b)[:len(r)]
	for i := range r {
		r[i] = min(x[i], y[i])
	}
}

func maximum[T number](result, a, b []byte) {
	r := view[T](result)
	x, y := view[T](a)[:len(r)], view[T](b)[:len(r)]
	for i := range r {
		r[i] = max(x[i], y[i])
	}
}

// conversion writes the elements of one buffer into another one of another type. ranks is what an average divides by.
type conversion func(to, from []byte, ranks int)

// convert makes a conversion of buffers from a conversion of single numbers.
func convert[To, From number](one func(From) To) conversion {
	return func(to, from []byte, _ int) {
		t := view[To](to)
		f := view[From](from)[:len(t)]
		for i := range t {
			t[i] = one(f[i])
		}
	}
}
