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

func TestFirstSentence(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "No mesh.": "No mesh.", "Llama-3.1-8B does not fit. One copy needs 3.2 GiB.": "Llama-3.1-8B does not fit.",
	} {
		if got := FirstSentence(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestJoinSummaries(t *testing.T) {
	three := []string{"TP2 x2", "TP4 x2", "TP8 PP2"}
	for limit, want := range map[int]string{
		64: "TP2 x2 + TP4 x2 + TP8 PP2", 25: "TP2 x2 + TP4 x2 + TP8 PP2", 24: "TP2 x2 + TP4 x2 + 1 more", 23: "TP2 x2 + 2 more",
	} {
		if got := JoinSummaries(three, limit); got != want || len(got) > limit {
			t.Errorf("in %d bytes: %q, want %q", limit, got, want)
		}
	}
	if got := JoinSummaries(three[:1], 64); got != "TP2 x2" {
		t.Errorf("one shape: %q", got)
	}
}

func TestNotesFitAndEndWithAWord(t *testing.T) {
	word := strings.Repeat("w", 99) + " "
	for name, c := range map[string]struct{ text, want string }{
		"short":             {"a rank is lost", "a rank is lost"},
		"as long as can be": {strings.Repeat("n", MaxNote), strings.Repeat("n", MaxNote)},
		"words":             {strings.Repeat(word, 11), strings.TrimSuffix(strings.Repeat(word, 10), " ") + mark},
		"no word ends":      {strings.Repeat("n", MaxNote+1), strings.Repeat("n", MaxNote-len(mark)) + mark},
		"within a rune":     {strings.Repeat("ä", MaxNote), strings.Repeat("ä", (MaxNote-len(mark))/2) + mark},
	} {
		if got := Note(c.text); got != c.want || len(got) > MaxNote || !utf8.ValidString(got) {
			t.Errorf("%s: %d bytes, ending in %q", name, len(got), got[max(0, len(got)-12):])
		}
	}
}
