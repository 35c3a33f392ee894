package plan

import (
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// readPrevious notes the devices of the previous plan, which are preferred among equals, and its shape, where that must
// be kept.
func (t *task) readPrevious(previous *v1alpha1.ShardingPlanSpec) {
	if previous == nil {
		return
	}
	t.keep = map[int32]bool{}
	for i := range previous.Nodes {
		for _, id := range previous.Nodes[i].Devices {
			if at, ok := t.cluster.Find(previous.Nodes[i].Node, id); ok {
				t.keep[at] = true
			}
		}
	}
	if t.spec.OnFailure != v1alpha1.FailureSameShape {
		return
	}
	if t.asked.tensor == 0 {
		t.asked.tensor = int(previous.Strategy.Tensor)
	}
	if t.asked.stages == 0 {
		t.asked.stages = int(previous.Strategy.Pipeline)
	}
	if slices.ContainsFunc(t.ladder, func(s step) bool { return s.format == previous.Quantization && s.cache == previous.KVCacheType }) {
		t.ladder = slices.DeleteFunc(t.ladder, func(s step) bool { return s.format != previous.Quantization || s.cache != previous.KVCacheType })
	}
}
