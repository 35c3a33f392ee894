package checkpoint

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// windowSize is how much of a file is held at a time.
const windowSize = 1 << 16

// errShort says that the file ends before what its header announces.
var errShort = errors.New("the file ends before what its header announces: it is cut off; fetch it again")

// window reads a file in pieces, so that a header costs the same memory however large the file is.
type window struct {
	in   io.ReaderAt
	size int64
	// from is where data starts in the file.
	from int64
	data []byte
	held [windowSize]byte
}

// bytes returns n bytes, at most windowSize, which are valid until the next call.
func (w *window) bytes(at int64, n int) ([]byte, error) {
	if at < 0 || n > windowSize || at > w.size || int64(n) > w.size-at {
		return nil, errShort
	}
	if at < w.from || at+int64(n) > w.from+int64(len(w.data)) {
		want := min(windowSize, w.size-at)
		got, err := w.in.ReadAt(w.held[:want], at)
		if int64(got) < want {
			if err == nil || errors.Is(err, io.EOF) {
				err = errShort
			}
			return nil, err
		}
		w.from, w.data = at, w.held[:got]
	}
	start := at - w.from
	return w.data[start : start+int64(n)], nil
}

// cursor reads little-endian values one after the other and keeps the first error.
type cursor struct {
	*window
	at, end int64
	err     error
}

// newCursor reads a file from its start, at most up to a limit.
func newCursor(in io.ReaderAt, size, limit int64) *cursor {
	return &cursor{window: &window{in: in, size: size}, end: min(size, limit)}
}

func (c *cursor) fail(err error) {
	if c.err == nil {
		c.err = err
	}
}

// left is how many bytes may still be read.
func (c *cursor) left() int64 { return c.end - c.at }

// next returns n bytes and moves on; zeros after an error.
func (c *cursor) next(n int) []byte {
	if c.err == nil && int64(n) > c.left() {
		c.fail(c.overrun())
	}
	if c.err == nil {
		b, err := c.bytes(c.at, n)
		if err == nil {
			c.at += int64(n)
			return b
		}
		c.fail(err)
	}
	return make([]byte, n)
}

// overrun says which end was passed.
func (c *cursor) overrun() error {
	if c.end < c.size {
		return fmt.Errorf("the header has more than %d bytes: no published model's has", c.end)
	}
	return errShort
}

// uint returns a number of some bytes, at most 8.
func (c *cursor) uint(width int) uint64 {
	var wide [8]byte
	copy(wide[:], c.next(width))
	return binary.LittleEndian.Uint64(wide[:])
}

func (c *cursor) u32() uint32 { return uint32(c.uint(4)) }
func (c *cursor) u64() uint64 { return c.uint(8) }

// skip moves on over n bytes.
func (c *cursor) skip(n uint64) {
	if c.err != nil {
		return
	}
	if n > uint64(c.left()) {
		c.fail(c.overrun())
		return
	}
	c.at += int64(n)
}

// text reads a string of n bytes.
func (c *cursor) text(n uint64, most int) string {
	if n > uint64(most) {
		c.fail(fmt.Errorf("a name of %d bytes: at most %d are read", n, most))
		return ""
	}
	return string(c.next(int(n)))
}
