package words

import (
	"strconv"
	"strings"
)

// HumanMiB prints an amount of memory in MiB with one decimal of the unit that people would choose.
func HumanMiB(mib int64) string {
	switch {
	case mib >= 1<<20:
		return strconv.FormatFloat(float64(mib)/(1<<20), 'f', 1, 64) + " TiB"
	case mib >= 1<<10:
		return strconv.FormatFloat(float64(mib)/(1<<10), 'f', 1, 64) + " GiB"
	default:
		return strconv.FormatInt(mib, 10) + " MiB"
	}
}

// HumanBytes prints an amount of memory in bytes as HumanMiB does, rounded up to a MiB.
func HumanBytes(bytes int64) string { return HumanMiB((bytes + 1<<20 - 1) >> 20) }

// Counted prints a number of things: 1 copy, 2 copies, 3 devices.
func Counted[N int | int32 | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	number := strconv.FormatInt(int64(n), 10)
	if stem, found := strings.CutSuffix(noun, "y"); found {
		return number + " " + stem + "ies"
	}
	return number + " " + noun + "s"
}
