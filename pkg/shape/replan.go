package shape

import (
	"slices"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// readPrevious notes the devices of the previous plan, which are preferred among equals, and its shape, where that must
// be kept when devices are lost.
func (t *Problem) readPrevious(previous *v1alpha1.ShardingPlanSpec) {
	if previous == nil {
		return
	}
	t.Keep = map[int32]bool{}
	for i := range previous.Nodes {
		for _, id := range previous.Nodes[i].Devices {
			if at, ok := t.Cluster.Find(previous.Nodes[i].Node, id); ok {
				t.Keep[at] = true
			}
		}
	}
	if t.request.Cause != LostDevices || t.Spec.FailurePolicy.Action != v1alpha1.FailureSameShape {
		return
	}
	if t.Asked.Tensor == 0 {
		t.Asked.Tensor = int(previous.Strategy.Tensor)
	}
	if t.Asked.Stages == 0 {
		t.Asked.Stages = int(previous.Strategy.Pipeline)
	}
	if slices.ContainsFunc(t.Ladder, func(s Format) bool { return s.Weights == previous.Quantization && s.Cache == previous.KVCacheType }) {
		t.Ladder = slices.DeleteFunc(t.Ladder, func(s Format) bool { return s.Weights != previous.Quantization || s.Cache != previous.KVCacheType })
	}
}
