package term

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestPagesAreFolded: lines, sheets and tables that are too wide have more lines, and none where the page is wide.
func TestPagesAreFolded(t *testing.T) {
	words := strings.TrimSpace(strings.Repeat("weights ", 30))
	for name, write := range map[string]func(*Page){
		"line":          func(p *Page) { p.Line(words) },
		"indented line": func(p *Page) { p.Linef("above\n  %s", words) },
		"sheet":         func(p *Page) { p.Sheet([][2]string{{"Name", "x"}, {"Assumed", words}}) },
		"table":         func(p *Page) { p.Table([]string{"A", "B"}, [][]string{{"TP4 PP2 BF16", words}, {"x", "y"}}) },
		"two columns":   func(p *Page) { p.Table(nil, [][]string{{words, words}}) },
	} {
		t.Run(name, func(t *testing.T) {
			var folded Page
			wide := Page{Wide: true}
			write(&folded)
			write(&wide)
			if got := widest(folded.String()); got > LineWidth {
				t.Errorf("%d columns:\n%s", got, folded.String())
			}
			if got := widest(wide.String()); got <= LineWidth {
				t.Errorf("the wide page was folded:\n%s", wide.String())
			}
			if a, b := len(strings.Fields(folded.String())), len(strings.Fields(wide.String())); a != b {
				t.Errorf("%d words, want %d:\n%s", a, b, folded.String())
			}
		})
	}
}

// TestShortCellsStayWhole: amounts with their units are not taken apart where a longer cell beside them can be.
func TestShortCellsStayWhole(t *testing.T) {
	var p Page
	row := []string{strings.Repeat("reason ", 20)}
	for i := range 6 {
		row = append(row, fmt.Sprintf("%d1.9 GiB", i))
	}
	p.Table(nil, [][]string{row})
	first, _, _ := strings.Cut(p.String(), "\n")
	if !strings.HasSuffix(first, "51.9 GiB") || widest(p.String()) > LineWidth {
		t.Errorf("got\n%s", p.String())
	}
}

// TestColumnsComeCloser: where a narrow terminal has no room for amounts as they are, headers are broken and less stands between columns.
func TestColumnsComeCloser(t *testing.T) {
	header, row := []string{"STAGE"}, []string{"0"}
	for range 6 {
		header, row = append(header, "USD A DEVICE"), append(row, "+ 81.4 GiB")
	}
	for width, want := range map[int]string{
		LineWidth: "0       + 81.4 GiB     + 81.4 GiB     + 81.4 GiB     + 81.4 GiB     + 81.4 GiB     + 81.4 GiB\n",
		80:        "0      + 81.4 GiB  + 81.4 GiB  + 81.4 GiB  + 81.4 GiB  + 81.4 GiB  + 81.4 GiB\n",
		72:        "0     + 81.4 GiB + 81.4 GiB + 81.4 GiB + 81.4 GiB + 81.4 GiB + 81.4 GiB\n",
	} {
		p := Page{Width: width}
		p.Table(header, [][]string{row})
		if !strings.HasSuffix(p.String(), want) {
			t.Errorf("on %d columns\n%s", width, p.String())
		}
	}
}

// TestFoldKeepsWords: folding changes blanks alone, and a line is too long only where a word is.
func TestFoldKeepsWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOf(rapid.StringMatching(`[a-z×]{1,12}`)).Draw(t, "words")
		width := rapid.IntRange(1, 40).Draw(t, "width")
		lines := Fold(strings.Join(words, " "), width, "  ")
		if got := strings.Fields(strings.Join(lines, " ")); strings.Join(got, " ") != strings.Join(words, " ") {
			t.Fatalf("%q became %q", words, got)
		}
		for _, line := range lines {
			if columns(line) > width && len(strings.Fields(line)) > 1 {
				t.Fatalf("%q has more than %d columns", line, width)
			}
		}
	})
}

// TestTablesFitTerminals: no table is wider than its terminal where each column may have what an amount takes, and where there is none no word is lost.
func TestTablesFitTerminals(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const count = 4
		cell := rapid.SliceOfN(rapid.StringMatching(`[a-zé0-9./-]{1,60}`), 0, 4)
		var rows [][]string
		for range rapid.IntRange(1, 5).Draw(t, "rows") {
			var row []string
			for range count {
				row = append(row, strings.Join(cell.Draw(t, "cell"), " "))
			}
			rows = append(rows, row)
		}
		width := rapid.IntRange(leastWidth, 250).Draw(t, "width")
		fits, all := Page{Width: width}, Page{}
		fits.Table(nil, rows)
		all.Table(nil, rows)
		if got := widest(fits.String()); got > width {
			t.Fatalf("%d columns on %d:\n%s", got, width, fits.String())
		}
		if strings.Contains(all.String(), "…") {
			t.Fatalf("words are lost without a terminal:\n%s", all.String())
		}
	})
}

func TestMiddle(t *testing.T) {
	for most, want := range map[int]string{10: "node…-x9qz", 14: "node-pool-x9qz", 3: "n…z", 1: "…", 0: "…"} {
		if got := Middle("node-pool-x9qz", most); got != want {
			t.Errorf("of %d columns: %q, want %q", most, got, want)
		}
	}
}

func widest(text string) int {
	most := 0
	for line := range strings.Lines(text) {
		most = max(most, columns(strings.TrimSuffix(line, "\n")))
	}
	return most
}
