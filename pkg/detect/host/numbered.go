package host

import (
	"cmp"
	"iter"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// ReadNumbered returns, in order, the numbers of the entries in a folder that are named by a prefix and a number and
// nothing else (`card0`, not `card0-DP-1`); none where there is no such folder.
func ReadNumbered(files Files, folder, prefix string) ([]int, error) {
	names, err := ReadNames(files, folder)
	if err != nil {
		return nil, err
	}
	var numbers []int
	for _, name := range names {
		digits, ok := strings.CutPrefix(name, prefix)
		if !ok {
			continue
		}
		if number, ok := ParseIndex(digits); ok {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// ParseIndex reads a number as the kernel prints minors and indexes: decimal, without sign or leading zeros, 31 bits.
func ParseIndex(digits string) (int, bool) {
	number, err := strconv.ParseInt(digits, 10, 32)
	return int(number), err == nil && number >= 0 && strconv.FormatInt(number, 10) == digits
}

// Numbered yields the names that the pattern matches, in order of the number in its first group.
func Numbered(names []string, pattern *regexp.Regexp) iter.Seq2[int32, string] {
	type item struct {
		number int32
		name   string
	}
	var items []item
	for _, name := range names {
		if match := pattern.FindStringSubmatch(name); match != nil {
			if number, err := strconv.ParseInt(match[1], 10, 32); err == nil {
				items = append(items, item{int32(number), name})
			}
		}
	}
	slices.SortFunc(items, func(a, b item) int { return cmp.Or(cmp.Compare(a.number, b.number), cmp.Compare(a.name, b.name)) })
	return func(yield func(int32, string) bool) {
		for _, i := range items {
			if !yield(i.number, i.name) {
				return
			}
		}
	}
}
