package words

import (
	"fmt"
	"strings"
)

// mark stands where Shorten left something out.
const mark = "…"

// Cut returns the beginning of a text that fits into so many bytes, in whole characters.
func Cut(text string, most int) string {
	return strings.ToValidUTF8(text[:min(len(text), max(most, 0))], "")
}

// Shorten returns a text that has at most so many bytes as it is, else its beginning and …, together not longer than that.
func Shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return Cut(text, most-len(mark)) + mark
}

// MaxNote is how many bytes the API server takes of an event's note (NoteLengthLimit in k8s.io/kubernetes, pkg/apis/core/validation).
const MaxNote = 1024

// Note returns a text as an event can have it: as it is, or its beginning in whole words and ….
func Note(text string) string {
	if len(text) <= MaxNote {
		return text
	}
	text = Cut(text, MaxNote-len(mark))
	if space := strings.LastIndexByte(text, ' '); space > 0 {
		text = text[:space]
	}
	return text + mark
}

// FirstSentence returns a text up to its first full stop that a space follows.
func FirstSentence(text string) string {
	if first, _, more := strings.Cut(text, ". "); more {
		return first + "."
	}
	return text
}

// JoinSummaries joins the summaries of shapes (`TP2 x2 + TP4 x2`). Where they are longer than most bytes, it ends with
// the number of those left out (`TP2 x2 + 3 more`).
func JoinSummaries(shapes []string, most int) string {
	const and = " + "
	whole := strings.Join(shapes, and)
	for kept := len(shapes) - 1; len(whole) > most && kept > 0; kept-- {
		whole = strings.Join(shapes[:kept], and) + and + fmt.Sprintf("%d more", len(shapes)-kept)
	}
	return whole
}

// maxEcho is how many bytes Echo keeps: longer than the names of tensors and models.
const maxEcho = 128

// Echo returns a text from outside as an error repeats it: at most maxEcho bytes of it.
func Echo(text string) string { return Shorten(text, maxEcho) }
