package checkpoint

import (
	"fmt"
	"io/fs"
	"strconv"

	"github.com/rankwright/rankwright/internal/words"
)

// Numbers of fields in TensorProto and in the entries of external_data.
const (
	tensorDims       = 1
	tensorType       = 2
	tensorFloats     = 4
	tensorInts       = 5
	tensorStrings    = 6
	tensorLongs      = 7
	tensorName       = 8
	tensorRaw        = 9
	tensorDoubles    = 10
	tensorUnsigneds  = 11
	tensorExternal   = 13
	tensorWhere      = 14
	externalKey      = 1
	externalValue    = 2
	locationExternal = 1
)

// tensorProto is what a TensorProto says, without its data.
type tensorProto struct {
	name     string
	dims     []int64
	kind     uint64
	raw      int64 // bytes of raw_data; -1 where there is none
	typed    int64 // bytes of the fields for single types
	external bool
	location string
	// offset and length are -1 where they are not given.
	offset, length int64
}

func readTensorProto(t *message) (*tensorProto, error) {
	p := &tensorProto{raw: -1, offset: -1, length: -1}
	err := t.each(func(f field) (err error) {
		switch f.number {
		case tensorDims:
			err = p.addDims(t, f)
		case tensorType:
			p.kind = f.value
		case tensorName:
			p.name, err = t.text(f)
		case tensorRaw:
			p.raw = f.end - f.begin
		case tensorFloats, tensorInts, tensorStrings, tensorLongs, tensorDoubles, tensorUnsigneds:
			p.typed += max(1, f.end-f.begin)
		case tensorExternal:
			err = p.addExternal(t.inner(f))
		case tensorWhere:
			p.external = f.value == locationExternal
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("tensor %q: %w", words.Echo(p.name), err)
	}
	return p, nil
}

// addDims reads dimensions, which are packed into one field or each a field of their own.
func (p *tensorProto) addDims(t *message, f field) error {
	if f.kind == wireVarint {
		p.dims = append(p.dims, int64(f.value))
	} else {
		packed := t.inner(f)
		for packed.at < packed.end && len(p.dims) <= maxRank {
			n, err := packed.varint()
			if err != nil {
				return err
			}
			p.dims = append(p.dims, int64(n))
		}
	}
	if len(p.dims) > maxRank {
		return fmt.Errorf("more than %d dimensions: the file is damaged", maxRank)
	}
	return nil
}

// addExternal reads a key and value of external_data.
func (p *tensorProto) addExternal(entry *message) error {
	var key, value string
	err := entry.each(func(f field) (err error) {
		switch f.number {
		case externalKey:
			key, err = entry.text(f)
		case externalValue:
			value, err = entry.text(f)
		}
		return err
	})
	if err != nil {
		return err
	}
	switch key {
	case "location":
		p.location = value
	case "offset":
		p.offset, err = strconv.ParseInt(value, 10, 64)
	case "length":
		p.length, err = strconv.ParseInt(value, 10, 64)
	}
	if err != nil {
		return fmt.Errorf("external_data %s is %q: a number of bytes is needed", key, words.Echo(value))
	}
	return nil
}

// tensor computes the size from type and dimensions and holds the data in the file to it.
func (p *tensorProto) tensor() (Tensor, error) {
	stored, known := onnxTypes[p.kind]
	if !known {
		return Tensor{}, fmt.Errorf("data_type %d is not known: the file is damaged or newer than this program", p.kind)
	}
	elements, ok := product(p.dims)
	size, fits := product([]int64{elements, stored.bits})
	if !ok || !fits {
		return Tensor{}, fmt.Errorf("dims %v are more than a file can have: the file is damaged", p.dims)
	}
	size = size/8 + min(1, size%8)
	t := Tensor{Name: p.name, Type: stored.name, Shape: p.dims, Elements: elements, Bytes: size}
	switch {
	case p.external || elements == 0:
	case p.kind == 8:
		t.Bytes = p.typed
	case p.raw >= 0 && p.raw != size:
		return Tensor{}, fmt.Errorf("raw_data has %d bytes, but dims %v of %s need %d: the file is damaged", p.raw, p.dims, stored.name, size)
	case p.raw < 0 && p.typed == 0:
		return Tensor{}, errNoData
	// A value takes a byte at least, or half of one where two or four are packed.
	case p.raw < 0 && elements > 4*p.typed:
		return Tensor{}, fmt.Errorf("%d bytes of data cannot hold dims %v: the file is damaged", p.typed, p.dims)
	}
	return t, nil
}

// extent says where external data lies. Only files beside the model or in folders under it are read.
func (p *tensorProto) extent(size int64) (span, error) {
	if !fs.ValidPath(p.location) || p.location == "." {
		return span{}, fmt.Errorf("external_data location is %q: only files in the model's folder are read", words.Echo(p.location))
	}
	if p.length >= 0 && p.length != size {
		return span{}, fmt.Errorf("external_data length is %d, but type and dims need %d: the file is damaged", p.length, size)
	}
	if p.offset < -1 {
		return span{}, fmt.Errorf("external_data offset is %d: it must not be below 0", p.offset)
	}
	begin := max(0, p.offset)
	return span{name: p.name, begin: begin, end: add(begin, size)}, nil
}
