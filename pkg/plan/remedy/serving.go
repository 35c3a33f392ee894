package remedy

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/plan/search"
	"github.com/rankwright/rankwright/pkg/shape"
)

// option is something that a server does beside, which a request can go without.
type option struct {
	name  string
	asked func(*v1alpha1.ServingOptions) bool
	clear func(*v1alpha1.ServingOptions)
}

// options are those that take memory or keep a copy in one stage, in the order in which they are given up.
var options = []option{
	{"memoryUtilizationPercent", func(o *v1alpha1.ServingOptions) bool { return o.MemoryUtilizationPercent > 0 }, func(o *v1alpha1.ServingOptions) { o.MemoryUtilizationPercent = 0 }},
	{"chunkedPrefill", func(o *v1alpha1.ServingOptions) bool { return o.ChunkedPrefill == v1alpha1.ChunkedPrefillDisabled }, func(o *v1alpha1.ServingOptions) { o.ChunkedPrefill = "" }},
	{"maxBatchedTokens", func(o *v1alpha1.ServingOptions) bool { return o.MaxBatchedTokens > 0 }, func(o *v1alpha1.ServingOptions) { o.MaxBatchedTokens = 0 }},
	{"speculation", func(o *v1alpha1.ServingOptions) bool { return o.Speculation != nil }, func(o *v1alpha1.ServingOptions) { o.Speculation = nil }},
	{"adapters", func(o *v1alpha1.ServingOptions) bool { return o.Adapters != nil }, func(o *v1alpha1.ServingOptions) { o.Adapters = nil }},
	{"media", func(o *v1alpha1.ServingOptions) bool { return o.Media != nil }, func(o *v1alpha1.ServingOptions) { o.Media = nil }},
}

// lessServing returns the first thing without which the server fits.
func lessServing(t *shape.Problem, _ []search.Family) []Remedy {
	in := t.Workload.Inference
	if in == nil || in.Serving == nil {
		return nil
	}
	for _, of := range options {
		apply := func(s *v1alpha1.ModelPlacementSpec) { of.clear(s.Workload.Inference.Serving) }
		if of.asked(in.Serving) && fitsWith(t, apply) {
			return oneRemedy(KindServing, fmt.Sprintf("workload.inference.serving.%s left out", of.name), apply)
		}
	}
	return nil
}
