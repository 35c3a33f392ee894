package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/rankwright/rankwright/internal/words"
)

// Limits of a GGUF header. The format's own are a key of 65,535 bytes and four dimensions (docs/gguf.md of ggml-org/ggml).
const (
	maxGGUFHeader = 256 << 20
	maxGGUFValues = 1 << 16
	maxGGUFKey    = 1<<16 - 1
	maxGGUFDims   = 4
	maxGGUFNest   = 4
	// maxGGUFText and maxGGUFArray bound the values that are kept; longer ones (templates, vocabularies) are passed over.
	maxGGUFText  = 4096
	maxGGUFArray = 4096
	// defaultAlignment is the alignment of tensors where general.alignment does not say.
	defaultAlignment = 32
)

// ggufHeader is what a GGUF file says before its data.
type ggufHeader struct {
	// values hold what is kept of the metadata: int64, string, []int64, or an arrayLength.
	values  map[string]any
	tensors []Tensor
}

// arrayLength replaces an array whose elements were passed over.
type arrayLength uint64

// Types of metadata values.
const (
	ggufString = 8
	ggufArray  = 9
)

// ggufNumbers are the numbers of metadata by type: their width in bytes, and whether they have a sign or are fractions, which
// are of no use here.
var ggufNumbers = map[uint32]struct {
	width            int
	signed, fraction bool
}{
	0: {width: 1}, 1: {width: 1, signed: true}, 2: {width: 2}, 3: {width: 2, signed: true}, 4: {width: 4}, 5: {width: 4, signed: true},
	6: {width: 4, fraction: true}, 7: {width: 1}, 10: {width: 8}, 11: {width: 8, signed: true}, 12: {width: 8, fraction: true},
}

// readGGUF reads metadata and tensor infos.
func readGGUF(in io.ReaderAt, size int64) (*ggufHeader, error) {
	c := newCursor(in, size, maxGGUFHeader)
	c.skip(uint64(len(ggufMagic)))
	version := c.u32()
	switch {
	case c.err != nil:
		return nil, c.err
	case version == 1:
		return nil, errors.New("version 1: convert the file anew; versions 2 and 3 are read")
	case version&0xffff == 0:
		return nil, errors.New("the file is big-endian: only little-endian files are read")
	case version > 3:
		return nil, fmt.Errorf("version %d: versions 2 and 3 are read", version)
	}
	tensors, values := c.u64(), c.u64()
	if c.err == nil && (tensors > maxTensors || values > maxGGUFValues) {
		return nil, fmt.Errorf("%d tensors and %d values of metadata: at most %d and %d are read", tensors, values, maxTensors, maxGGUFValues)
	}
	h := &ggufHeader{values: map[string]any{}}
	for range values {
		if err := h.readValue(c); err != nil {
			return nil, err
		}
	}
	alignment := h.alignment()
	if alignment < 1 || alignment > 1<<20 || alignment&(alignment-1) != 0 {
		return nil, fmt.Errorf("general.alignment is %d: it must be a power of two up to %d", alignment, 1<<20)
	}
	spans, err := h.readTensors(c, tensors, alignment)
	if err != nil {
		return nil, err
	}
	start := (c.at + alignment - 1) / alignment * alignment
	return h, apart(spans, max(0, size-start))
}

func (h *ggufHeader) alignment() int64 {
	if n, ok := h.values["general.alignment"].(int64); ok {
		return n
	}
	return defaultAlignment
}

// readValue reads a key and its value.
func (h *ggufHeader) readValue(c *cursor) error {
	key := c.text(c.u64(), maxGGUFKey)
	value := readGGUFValue(c, c.u32(), 0)
	if c.err != nil {
		return fmt.Errorf("metadata %q: %w", words.Echo(key), c.err)
	}
	if _, twice := h.values[key]; twice {
		return fmt.Errorf("metadata %q is there twice: the file is damaged", words.Echo(key))
	}
	h.values[key] = value
	return nil
}

// readGGUFValue reads a value and keeps it where it is a number, a short text or a short array of whole numbers.
func readGGUFValue(c *cursor, kind uint32, depth int) any {
	switch kind {
	case ggufString:
		n := c.u64()
		if n <= maxGGUFText {
			return c.text(n, maxGGUFText)
		}
		c.skip(n)
		return ""
	case ggufArray:
		return readGGUFArray(c, depth+1)
	}
	return readGGUFNumber(c, kind)
}

// readGGUFNumber reads a whole number and passes over a fraction.
func readGGUFNumber(c *cursor, kind uint32) any {
	stored, known := ggufNumbers[kind]
	if !known {
		c.fail(fmt.Errorf("value type %d is not known: the file is damaged or newer than version 3", kind))
		return nil
	}
	n := c.uint(stored.width)
	switch unused := 64 - 8*stored.width; {
	case stored.fraction:
		return nil
	case stored.signed:
		return int64(n<<unused) >> unused
	default:
		return int64(min(n, math.MaxInt64))
	}
}

func readGGUFArray(c *cursor, depth int) any {
	kind, n := c.u32(), c.u64()
	if depth > maxGGUFNest {
		c.fail(fmt.Errorf("arrays are nested more than %d deep: the file is damaged", maxGGUFNest))
	}
	stored, fixed := ggufNumbers[kind]
	switch {
	case c.err != nil:
		return nil
	case fixed && n > uint64(c.left())/uint64(stored.width):
		c.fail(c.overrun())
	case fixed && (n > maxGGUFArray || stored.fraction):
		c.skip(n * uint64(stored.width))
	case fixed:
		list := make([]int64, 0, n)
		for range n {
			number, _ := readGGUFNumber(c, kind).(int64)
			list = append(list, number)
		}
		return list
	default:
		for i := uint64(0); i < n && c.err == nil; i++ {
			if kind == ggufString {
				c.skip(c.u64())
			} else {
				readGGUFValue(c, kind, depth)
			}
		}
	}
	return arrayLength(n)
}

// readTensors reads the infos, which are not aligned; the data of tensors is.
func (h *ggufHeader) readTensors(c *cursor, n uint64, alignment int64) ([]span, error) {
	var spans []span
	for range n {
		name := c.text(c.u64(), maxName)
		t, offset, err := readGGUFTensor(c)
		if err = cmp.Or(c.err, err); err == nil && offset%alignment != 0 {
			err = fmt.Errorf("it starts at byte %d of the data: tensors start at multiples of %d; the header is damaged", offset, alignment)
		}
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", words.Echo(name), err)
		}
		t.Name = name
		h.tensors = append(h.tensors, t)
		spans = append(spans, span{name: name, begin: offset, end: add(offset, t.Bytes)})
	}
	return spans, distinct(h.tensors)
}

func readGGUFTensor(c *cursor) (Tensor, int64, error) {
	rank := c.u32()
	if rank > maxGGUFDims {
		return Tensor{}, 0, fmt.Errorf("%d dimensions: the format allows %d", rank, maxGGUFDims)
	}
	shape := make([]int64, rank)
	for i := range shape {
		shape[i] = int64(c.u64())
	}
	number, offset := c.u32(), c.u64()
	stored, known := ggmlTypes[number]
	if c.err == nil && !known {
		return Tensor{}, 0, fmt.Errorf("type %d is not known: the file is damaged or newer than this program", number)
	}
	elements, ok := product(shape)
	if row := append(shape, 1)[0]; c.err == nil && (!ok || row%max(1, stored.values) != 0) {
		return Tensor{}, 0, fmt.Errorf("dimensions %v cannot be stored in blocks of %d: the header is damaged", shape, stored.values)
	}
	size, ok := product([]int64{elements / max(1, stored.values), stored.bytes})
	if !ok || offset > math.MaxInt64 {
		return Tensor{}, 0, fmt.Errorf("dimensions %v at offset %d are more than a file can have: the header is damaged", shape, offset)
	}
	slices.Reverse(shape)
	return Tensor{Type: stored.name, Shape: shape, Elements: elements, Bytes: size}, int64(offset), nil
}
