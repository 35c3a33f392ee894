package plan

import (
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
)

func estimatedFor(t *testing.T, nodes []fleet.Node, r Request) *v1alpha1.Estimate {
	t.Helper()
	return mustPlan(t, fleet.NewCluster(nodes), r).Estimate
}

func TestEstimates(t *testing.T) {
	h := []fleet.Node{host("a", true, times8(h100)...)}
	one := estimatedFor(t, h, ask(llama(t, 8), 2048, 1, format("BF16")))
	// 14.96 GiB of weights at 3350 GB/s take 4.8 ms; what else a step costs is fitted.
	if one.TPOTMicros < 4800 || one.TPOTMicros > 9000 || one.TPOTMicrosLow >= one.TPOTMicros || one.TPOTMicrosHigh <= one.TPOTMicros ||
		one.TokensPerSecondLow >= one.TokensPerSecond || one.TokensPerSecondHigh <= one.TokensPerSecond ||
		!strings.HasPrefix(one.Basis, "fitted; 1 request at once") || one.TTFTMillis < 6 {
		t.Errorf("got %+v", one)
	}
	for name, test := range map[string]struct {
		nodes []fleet.Node
		other Request
	}{
		"more sequences":  {h, ask(llama(t, 8), 2048, 64, format("BF16"))},
		"fewer bytes":     {h, ask(llama(t, 8), 2048, 1, format("INT4"))},
		"faster memory":   {[]fleet.Node{host("a", true, times8(h200)...)}, ask(llama(t, 8), 2048, 1, format("BF16"))},
		"two copies":      {h, ask(llama(t, 8), 2048, 1, format("BF16"), replicas(2))},
		"tensor parallel": {h, ask(llama(t, 8), 2048, 1, format("BF16"), parallelism(v1alpha1.Parallelism{Tensor: ptr(int32(4))}))},
		"training has none": {h, ask(llama(t, 8), 1, 1, func(s *specOf) {
			s.Workload = v1alpha1.Workload{Training: &v1alpha1.TrainingWorkload{Method: "LoRA", SequenceLength: 1024, GlobalBatch: 1}}
		})},
	} {
		if got := estimatedFor(t, test.nodes, test.other); got.TokensPerSecond <= one.TokensPerSecond {
			t.Errorf("%s: %d tokens per second, no more than %d", name, got.TokensPerSecond, one.TokensPerSecond)
		}
	}
	slower := estimatedFor(t, h, ask(llama(t, 70), 2048, 1, format("BF16")))
	if slower.TokensPerSecond >= one.TokensPerSecond {
		t.Errorf("a larger model is not slower: %+v", slower)
	}
	unknown := h100
	unknown.gbps = 0
	if got := estimatedFor(t, []fleet.Node{host("a", true, unknown)}, ask(llama(t, 8), 2048, 1)); got != nil {
		t.Errorf("an unknown device has the estimate %+v", got)
	}
}
