package checkpoint

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/rankwright/rankwright/internal/words"
)

// span is where a tensor or an entry of an archive lies in some data.
type span struct {
	name       string
	begin, end int64
}

func sortSpans(spans []span) {
	slices.SortFunc(spans, func(a, b span) int {
		return cmp.Or(cmp.Compare(a.begin, b.begin), cmp.Compare(a.end, b.end))
	})
}

// apart holds spans to lie within the data, none over another. A span without bytes may lie anywhere.
func apart(spans []span, size int64) error {
	sortSpans(spans)
	var last span
	for _, s := range spans {
		switch {
		case s.begin < last.end && s.end > s.begin:
			return fmt.Errorf("%q starts at byte %d of the data, inside of %q, which ends at %d: they share bytes; the file is damaged",
				words.Echo(s.name), s.begin, words.Echo(last.name), last.end)
		case s.end > size:
			return fmt.Errorf("%q ends at byte %d of the data, which has %d: %w", words.Echo(s.name), s.end, size, errShort)
		case s.end > last.end:
			last = s
		}
	}
	return nil
}

// tile holds spans to the rule of safetensors: in order of their offsets each begins where the one before ends, and the last
// ends with the file.
func tile(spans []span, size int64) error {
	sortSpans(spans)
	var end int64
	for _, s := range spans {
		if s.begin != end {
			return fmt.Errorf("tensor %q starts at byte %d of the data, where the tensor before it ends at %d: tensors must neither overlap nor leave gaps; the header is damaged", words.Echo(s.name), s.begin, end)
		}
		end = s.end
	}
	if end > size {
		return fmt.Errorf("the tensors end at byte %d of the data, which has %d: %w", end, size, errShort)
	}
	if end < size {
		return fmt.Errorf("the tensors end at byte %d of the data, which has %d: the file holds more than its header says", end, size)
	}
	return nil
}
