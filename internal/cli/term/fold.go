package term

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// LineWidth is how many columns what people read has at most, unless it is asked for wide. A terminal of fewer columns than leastWidth is not
// written for.
const (
	LineWidth  = 120
	leastWidth = 60
)

// unbroken is how long a cell of a table may be and never be broken: `31.9 GiB`, `PP4 x2 BF16`.
const unbroken = 12

// Fold breaks a text at blanks into lines of at most so many columns. Lines after the first begin with the hang. A word that is
// longer than a line stays whole.
func Fold(text string, width int, hang string) []string {
	var lines []string
	line, blank := leading(text), ""
	for _, word := range strings.Fields(text) {
		if strings.TrimSpace(line) != "" && columns(line)+columns(blank)+columns(word) > width {
			lines = append(lines, line)
			line, blank = hang, ""
		}
		line += blank + word
		blank = " "
	}
	return append(lines, line)
}

// leading is the blanks with which a text begins.
func leading(text string) string { return text[:len(text)-len(strings.TrimLeft(text, " "))] }

func columns(text string) int { return utf8.RuneCountInString(text) }

// room is what a table has room for.
type room struct {
	// width is how many columns its rows are to have at most, terminal how many the terminal has to which it goes, 0 where it goes to none.
	width, terminal int
	// gap is what stands between its columns, whole are those whose words are never shortened.
	gap   int
	whole []bool
	// headed says that the first row is a header.
	headed bool
}

// narrow says whether a table goes to a terminal that is narrower than what people read may be: its header is broken wherever it has a blank.
func (r *room) narrow() bool { return r.terminal > 0 && r.terminal < LineWidth }

// shorten lets long words lose what is in their middle.
func (r *room) shorten(least []int) {
	for i := range least {
		if i >= len(r.whole) || !r.whole[i] {
			least[i] = min(least[i], unbroken)
		}
	}
}

// closer is the gap at which a table has room on a narrow terminal: what is asked for, or less where shortened words are not enough.
func (r *room) closer(rows [][]string) int {
	_, least := measure(rows, r.headed)
	r.shorten(least)
	gap := r.gap
	for ; r.narrow() && gap > 1 && excess(least, r.width, gap) > 0; gap-- {
	}
	return gap
}

// foldRows breaks the longest cells of a table so that its rows have room, where the words of its cells allow. A row becomes as many rows as its highest cell
// has lines. Where a terminal has no room even then, long words lose what is in their middle.
func foldRows(rows [][]string, in room) [][]string {
	widths, least := measure(rows, in.headed && in.narrow())
	folds := squeeze(widths, least, in.width, in.gap)
	if in.terminal > 0 {
		in.shorten(least)
		folds = squeeze(widths, least, in.terminal, in.gap) || folds
	}
	if !folds {
		return rows
	}
	var folded [][]string
	for _, row := range rows {
		folded = append(folded, foldRow(row, widths)...)
	}
	return folded
}

// measure returns the widths of the columns, and how narrow they may become. The cells of a header that may be broken are, however short they are.
func measure(rows [][]string, headed bool) (widths, least []int) {
	for at, row := range rows {
		for i, cell := range row {
			if i == len(widths) {
				widths, least = append(widths, 0), append(least, 0)
			}
			widths[i] = max(widths[i], columns(cell))
			if at > 0 || !headed {
				least[i] = max(least[i], min(columns(cell), unbroken))
			}
			for word := range strings.FieldsSeq(cell) {
				least[i] = max(least[i], columns(word))
			}
		}
	}
	return widths, least
}

// squeeze takes from the widest columns what is too much, and says whether anything was.
func squeeze(widths, least []int, width, gap int) bool {
	squeezed := false
	for much := excess(widths, width, gap); much > 0; much-- {
		widest := -1
		for i := range widths {
			if widths[i] > least[i] && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return squeezed
		}
		widths[widest]--
		squeezed = true
	}
	return squeezed
}

// excess is by how many columns a table is too wide.
func excess(widths []int, width, gap int) int {
	much := gap*(len(widths)-1) - width
	for _, w := range widths {
		much += w
	}
	return much
}

func foldRow(row []string, widths []int) [][]string {
	cells, height := make([][]string, len(row)), 1
	for i, cell := range row {
		cells[i] = []string{cell}
		if columns(cell) > widths[i] {
			cells[i] = Fold(ShortWords(cell, widths[i]), widths[i], "")
		}
		height = max(height, len(cells[i]))
	}
	lines := slices.Collect(slices.Chunk(make([]string, height*len(row)), len(row)))
	for i := range cells {
		for j, line := range cells[i] {
			lines[j][i] = line
		}
	}
	return lines
}

// ShortWords is a text without the middle of its words that are too long.
func ShortWords(text string, most int) string {
	list := strings.Fields(text)
	for i, word := range list {
		list[i] = Middle(word, most)
	}
	return strings.Join(list, " ")
}

// Middle is a text of at most so many columns as it is, else its beginning and its end with … between them: names that begin alike end otherwise.
func Middle(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	head := max(most-1, 0) / 2
	return string(runes[:head]) + "…" + string(runes[len(runes)-max(most-1-head, 0):])
}
