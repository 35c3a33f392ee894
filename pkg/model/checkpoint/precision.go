package checkpoint

import (
	"cmp"
	"maps"
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// Precision is the format that most weights are stored in; empty where the files do not tell.
func (c *Checkpoint) Precision() v1alpha1.Precision {
	sums := c.assign()
	order := slices.SortedFunc(maps.Keys(sums), func(a, b v1alpha1.Precision) int {
		return cmp.Or(cmp.Compare(sums[b], sums[a]), cmp.Compare(a, b))
	})
	if len(order) == 0 {
		return ""
	}
	return order[0]
}
