package collective

import (
	"fmt"
	"iter"
)

// span is a part of a buffer, in elements or bytes.
type span struct{ from, to int }

// chunk is a member's part of so many elements: as equal as possible, the first ones longer.
func chunk(elements, members, member int) span {
	size, rest := elements/members, elements%members
	from := member*size + min(member, rest)
	if member < rest {
		size++
	}
	return span{from, from + size}
}

// segments cuts a length into pieces; an empty length is one empty piece, so that it is sent and checked too.
func segments(length, size int) iter.Seq2[int, span] {
	return func(yield func(int, span) bool) {
		for i, from := 0, 0; i == 0 || from < length; i, from = i+1, from+size {
			if !yield(i, span{from, min(from+size, length)}) {
				return
			}
		}
	}
}

// bytes is a span of elements in a buffer.
func (s span) bytes(buffer []byte, elementSize int) []byte {
	return buffer[s.from*elementSize : s.to*elementSize]
}

// shorten writes a list of ranks so that it stays readable.
func shorten(ranks []int) string {
	const most = 8
	if len(ranks) <= most {
		return fmt.Sprint(ranks)
	}
	return fmt.Sprintf("%v and %d more", ranks[:most], len(ranks)-most)
}
