package inventory

import (
	"slices"
	"strconv"
	"strings"
)

// compareCapabilities compares compute capabilities number by number, so that 9.0 is below 12.0 and equal to 9; false
// where one is not made of numbers.
func compareCapabilities(a, b string) (order int, ok bool) {
	first, okA := capability(a)
	second, okB := capability(b)
	if !okA || !okB {
		return 0, false
	}
	return slices.Compare(first, second), true
}

// capability splits a compute capability into its numbers, without zeros at the end.
func capability(text string) ([]uint64, bool) {
	var numbers []uint64
	for part := range strings.SplitSeq(text, ".") {
		number, err := strconv.ParseUint(part, 10, 32)
		if err != nil {
			return nil, false
		}
		numbers = append(numbers, number)
	}
	for len(numbers) > 1 && numbers[len(numbers)-1] == 0 {
		numbers = numbers[:len(numbers)-1]
	}
	return numbers, true
}
