// Package words writes amounts and numbers of things for people, compares names that they type with those that exist, and
// shortens texts.
package words

import (
	"slices"
	"strings"
)

// maxCompared is how many bytes of a name are compared; farther is more than the distance of any two.
const (
	maxCompared = 128
	farther     = 2 * 2 * maxCompared
)

// Nearest returns the names nearest to one that is not among them, in any case, nearest first and at most so many: those that
// begin with it before all others. Names that are equally near keep their order.
func Nearest(wanted string, names []string, most int) []string {
	wanted = prefix(strings.ToLower(wanted))
	distances := make(map[string]int, len(names))
	for _, name := range names {
		lower := prefix(strings.ToLower(name))
		distances[name] = distance(wanted, lower)
		if !strings.HasPrefix(lower, wanted) {
			distances[name] += farther
		}
	}
	sorted := slices.Clone(names)
	slices.SortStableFunc(sorted, func(a, b string) int { return distances[a] - distances[b] })
	return sorted[:min(most, len(sorted))]
}

func prefix(s string) string { return s[:min(len(s), maxCompared)] }

// distance is the Levenshtein distance in half edits, byte by byte. Where one text begins with the other, what follows
// counts half: people leave out a suffix more often than they mistype a letter.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = 2 * j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = 2 * (i + 1)
		for j := range len(b) {
			replace := diagonal
			if a[i] != b[j] {
				replace += 2
			}
			diagonal = row[j+1]
			row[j+1] = min(replace, diagonal+2, row[j]+2)
		}
	}
	if strings.HasPrefix(b, a) || strings.HasPrefix(a, b) {
		return row[len(b)] / 2
	}
	return row[len(b)]
}
