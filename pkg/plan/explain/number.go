package explain

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/words"
	"github.com/rankwright/rankwright/pkg/plan/search"
	"github.com/rankwright/rankwright/pkg/shape"
)

// numberTexts say how the copies of a plan share the load of the whole placement, and what one copy more or less would take where
// their number is the planner's choice.
func numberTexts(t *shape.Problem, spec *v1alpha1.ShardingPlanSpec) []string {
	if t.Sequences() == 0 {
		return nil
	}
	copies := int(spec.Copies())
	text := fmt.Sprintf("%s share %s at once, %d each", words.Counted(copies, "copy"), words.Counted(t.Sequences(), "sequence"), t.Share(copies))
	if !t.Open {
		return []string{text + "."}
	}
	texts := []string{fmt.Sprintf("%s, on %s: the planner chose the number.", text, words.Counted(spec.Totals.Devices, "device"))}
	for _, n := range []int{copies - t.Copies, copies + t.Copies} {
		if n < t.Copies || n > min(shape.MaxCopies, t.Sequences()) {
			continue
		}
		found, _ := search.Best(t.With(t.InCopies(n)))
		if found == nil {
			texts = append(texts, fmt.Sprintf("%s would not fit.", words.Counted(n, "copy")))
			continue
		}
		texts = append(texts, fmt.Sprintf("%s would take %s in %s.", words.Counted(n, "copy"), words.Counted(len(found.Devices()), "device"), found.Tier.Weights))
	}
	return texts
}
