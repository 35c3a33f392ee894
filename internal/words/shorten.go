package words

import "strings"

// mark stands where Shorten left something out.
const mark = "…"

// Cut returns the beginning of a text that fits into so many bytes, in whole characters.
func Cut(text string, most int) string {
	return strings.ToValidUTF8(text[:min(len(text), max(most, 0))], "")
}

// Shorten returns a text that fits into so many bytes as it is, and of any other the beginning, with … where it goes on.
func Shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return Cut(text, most-len(mark)) + mark
}
