package measure

import (
	"fmt"
	"testing"
)

func TestBound(t *testing.T) {
	known, seen := KnownOf("a", "b"), map[string]int{}
	for i := range 1000 {
		for _, value := range []string{"a", "b", "", "A", fmt.Sprint("a", i)} {
			seen[known.Bound(value)]++
		}
	}
	if len(seen) != 3 || seen["a"] != 1000 || seen["b"] != 1000 || seen[other] != 3000 {
		t.Errorf("the values are %v", seen)
	}
}
