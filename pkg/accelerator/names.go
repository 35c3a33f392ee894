package accelerator

import "bytes"

// maxName is longer than any name in the data; longer names are not looked up.
const maxName = 96

// name is a reported name reduced to what two spellings of one product share.
type name struct {
	text [maxName]byte
	size int
}

// vendorPrefixes stand before the name in some driver versions and not in others.
var vendorPrefixes = []string{"nvidia"}

// normalize drops case, spaces and a leading vendor. It allocates nothing, since every device of every scan comes here.
func normalize(reported string) (n name, ok bool) {
	for i := range len(reported) {
		c := reported[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			continue
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		}
		if n.size == maxName {
			return name{}, false
		}
		n.text[n.size] = c
		n.size++
	}
	for _, prefix := range vendorPrefixes {
		if n.size > len(prefix) && string(n.text[:len(prefix)]) == prefix {
			copy(n.text[:], n.text[len(prefix):n.size])
			n.size -= len(prefix)
		}
	}
	return n, n.size > 0
}

func (n *name) bytes() []byte { return n.text[:n.size] }

func sameName(a, b string) bool {
	x, okX := normalize(a)
	y, okY := normalize(b)
	return okX && okY && bytes.Equal(x.bytes(), y.bytes())
}

// named returns the entries that have the reported name.
func (c *catalogue) named(reported string) []entry {
	n, ok := normalize(reported)
	if !ok {
		return nil
	}
	return c.byName[string(n.bytes())]
}
