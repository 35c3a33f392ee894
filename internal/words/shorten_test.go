package words

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestShorten(t *testing.T) {
	for _, test := range []struct {
		text         string
		most         int
		cut, shorten string
	}{
		{"rank", 4, "rank", "rank"},
		{"ranks", 4, "rank", "r…"},
		{"räng", 5, "räng", "räng"},
		{"ränge", 5, "räng", "r…"},
		{"ä", 1, "", "…"},
		{"", 0, "", ""},
		{"rank", 0, "", "…"},
		{"rank", -1, "", "…"},
	} {
		if got := Cut(test.text, test.most); got != test.cut {
			t.Errorf("Cut(%q, %d) is %q, want %q", test.text, test.most, got, test.cut)
		}
		if got := Shorten(test.text, test.most); got != test.shorten {
			t.Errorf("Shorten(%q, %d) is %q, want %q", test.text, test.most, got, test.shorten)
		}
	}
}

func TestShortenedTextsFitAndBeginAlike(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, most := rapid.String().Draw(t, "text"), rapid.IntRange(len(mark), 64).Draw(t, "most")
		cut, short := Cut(text, most), Shorten(text, most)
		if len(cut) > most || len(short) > most || !utf8.ValidString(cut) || !utf8.ValidString(short) {
			t.Fatalf("%q and %q, in at most %d bytes", cut, short, most)
		}
		if !strings.HasPrefix(text, cut) || !strings.HasPrefix(text, strings.TrimSuffix(short, mark)) {
			t.Fatalf("%q and %q are no beginnings", cut, short)
		}
		if len(cut) < min(most, len(text))-utf8.UTFMax+1 {
			t.Fatalf("%q leaves out a character that fits", cut)
		}
	})
}
