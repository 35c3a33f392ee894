package checkpoint

import (
	"cmp"
	"errors"
	"fmt"
)

// Wire types of protocol buffers (https://protobuf.dev/programming-guides/encoding/).
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

// field is a field of a message: a number, or where its content lies in the file.
type field struct {
	number     uint64
	kind       uint64
	value      uint64
	begin, end int64
}

// message reads the fields of a protobuf message that lies somewhere in a file. Content is passed over, not loaded.
type message struct {
	*window
	at, end int64
	// budget is how many fields may still be read of the file, shared by all its messages.
	budget *int
}

var errWire = errors.New("the protocol buffer is damaged")

// next returns the next field.
func (m *message) next() (field, error) {
	*m.budget--
	if *m.budget < 0 {
		return field{}, fmt.Errorf("more than %d fields: no published model has as many", maxFields)
	}
	tag, err := m.varint()
	if err != nil {
		return field{}, err
	}
	f := field{number: tag >> 3, kind: tag & 7}
	switch f.kind {
	case wireVarint:
		f.value, err = m.varint()
		return f, err
	case wireBytes:
		f.value, err = m.varint()
	case wireFixed64:
		f.value = 8
	case wireFixed32:
		f.value = 4
	default:
		err = errWire
	}
	if err != nil || f.value > uint64(m.end-m.at) {
		return f, cmp.Or(err, errWire)
	}
	f.begin, f.end = m.at, m.at+int64(f.value)
	m.at = f.end
	return f, nil
}

func (m *message) varint() (uint64, error) {
	var value uint64
	for shift := 0; shift < 64 && m.at < m.end; shift += 7 {
		b, err := m.bytes(m.at, 1)
		if err != nil {
			return 0, err
		}
		m.at++
		value |= uint64(b[0]&0x7f) << shift
		if b[0] < 0x80 {
			return value, nil
		}
	}
	return 0, errWire
}

// inner is the message in a field.
func (m *message) inner(f field) *message {
	return &message{window: m.window, at: f.begin, end: f.end, budget: m.budget}
}

// text is the string in a field.
func (m *message) text(f field) (string, error) {
	if f.kind != wireBytes || f.end-f.begin > maxName {
		return "", fmt.Errorf("a name of %d bytes: at most %d are read", f.end-f.begin, maxName)
	}
	b, err := m.bytes(f.begin, int(f.end-f.begin))
	return string(b), err
}

// each reads all fields. A wire type that a handler does not expect is its own to refuse.
func (m *message) each(handle func(field) error) error {
	for m.at < m.end {
		f, err := m.next()
		if err == nil {
			err = handle(f)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
