package plan

import (
	"math"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

func estimateOf(t *testing.T, nodes []Node, r Request) *v1alpha1.Estimate {
	t.Helper()
	return mustPlan(t, NewCluster(nodes), r).Estimate
}

func TestEstimates(t *testing.T) {
	h := []Node{host("a", true, times8(h100)...)}
	one := estimateOf(t, h, ask(t, llama(t, 8), 2048, 1, format("BF16")))
	// 14.96 GiB of weights and half of a short cache at 0.8 of 3350 GB/s: 6 ms for a token.
	if math.Abs(float64(one.TPOTMicros)-6100) > 200 || math.Abs(float64(one.TokensPerSecond*one.TPOTMicros)-1e6) > 1e4 || one.Basis == "" || one.TTFTMillis < 6 {
		t.Errorf("got %+v", one)
	}
	for name, test := range map[string]struct {
		nodes []Node
		other Request
	}{
		"more sequences":  {h, ask(t, llama(t, 8), 2048, 64, format("BF16"))},
		"fewer bytes":     {h, ask(t, llama(t, 8), 2048, 1, format("INT4"))},
		"faster memory":   {[]Node{host("a", true, times8(h200)...)}, ask(t, llama(t, 8), 2048, 1, format("BF16"))},
		"two copies":      {h, ask(t, llama(t, 8), 2048, 1, format("BF16"), replicas(2))},
		"tensor parallel": {h, ask(t, llama(t, 8), 2048, 1, format("BF16"), parallelism(v1alpha1.Parallelism{Tensor: ptr(int32(4))}))},
		"training has none": {h, ask(t, llama(t, 8), 1, 1, func(s *specOf) {
			s.Workload = v1alpha1.Workload{Training: &v1alpha1.TrainingWorkload{Method: "LoRA", SequenceLength: 1024, GlobalBatch: 1}}
		})},
	} {
		if got := estimateOf(t, test.nodes, test.other); got.TokensPerSecond <= one.TokensPerSecond {
			t.Errorf("%s: %d tokens per second, no more than %d", name, got.TokensPerSecond, one.TokensPerSecond)
		}
	}
	slower := estimateOf(t, h, ask(t, llama(t, 70), 2048, 1, format("BF16")))
	if slower.TokensPerSecond >= one.TokensPerSecond {
		t.Errorf("a larger model is not slower: %+v", slower)
	}
	unknown := h100
	unknown.gbps = 0
	if got := estimateOf(t, []Node{host("a", true, unknown)}, ask(t, llama(t, 8), 2048, 1)); got != nil {
		t.Errorf("an unknown device has the estimate %+v", got)
	}
}
