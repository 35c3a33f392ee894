package plan

import (
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

func estimatedFor(t *testing.T, nodes []fleet.Node, r shape.Request) *v1alpha1.Estimate {
	t.Helper()
	return mustPlan(t, fleet.NewCluster(nodes), r).Estimate
}

func TestEstimates(t *testing.T) {
	h := []fleet.Node{plantest.Host("a", true, plantest.Times8(plantest.H100)...)}
	one := estimatedFor(t, h, ask(plantest.Llama(t, 8), 2048, 1, plantest.Format("BF16")))
	// 14.96 GiB of weights at 3350 GB/s take 4.8 ms; what else a step costs is fitted.
	if one.TPOTMicros.Value < 4800 || one.TPOTMicros.Value > 9000 || one.TPOTMicros.Low >= one.TPOTMicros.Value || one.TPOTMicros.High <= one.TPOTMicros.Value ||
		one.TokensPerSecond.Low >= one.TokensPerSecond.Value || one.TokensPerSecond.High <= one.TokensPerSecond.Value ||
		!strings.HasPrefix(one.Basis, "same family; 1 request at once") || one.TTFTMillis.Value < 6 {
		t.Errorf("got %+v", one)
	}
	for name, test := range map[string]struct {
		nodes []fleet.Node
		other shape.Request
	}{
		"more sequences":    {h, ask(plantest.Llama(t, 8), 2048, 64, plantest.Format("BF16"))},
		"fewer bytes":       {h, ask(plantest.Llama(t, 8), 2048, 1, plantest.Format("INT4"))},
		"faster memory":     {[]fleet.Node{plantest.Host("a", true, plantest.Times8(plantest.H200)...)}, ask(plantest.Llama(t, 8), 2048, 1, plantest.Format("BF16"))},
		"two copies":        {h, ask(plantest.Llama(t, 8), 2048, 1, plantest.Format("BF16"), plantest.Replicas(2))},
		"tensor parallel":   {h, ask(plantest.Llama(t, 8), 2048, 1, plantest.Format("BF16"), plantest.Parallelism(v1alpha1.Parallelism{Tensor: plantest.Ptr(int32(4))}))},
		"training has none": {h, ask(plantest.Llama(t, 8), 1, 1, plantest.Train(v1alpha1.TrainingWorkload{Method: "LoRA", SequenceLength: 1024, GlobalBatch: 1}))},
	} {
		if got := estimatedFor(t, test.nodes, test.other); got.TokensPerSecond.Value <= one.TokensPerSecond.Value {
			t.Errorf("%s: %d tokens per second, no more than %d", name, got.TokensPerSecond.Value, one.TokensPerSecond.Value)
		}
	}
	slower := estimatedFor(t, h, ask(plantest.Llama(t, 70), 2048, 1, plantest.Format("BF16")))
	if slower.TokensPerSecond.Value >= one.TokensPerSecond.Value {
		t.Errorf("a larger model is not slower: %+v", slower)
	}
	unknown := plantest.H100
	unknown.GBps = 0
	if got := estimatedFor(t, []fleet.Node{plantest.Host("a", true, unknown)}, ask(plantest.Llama(t, 8), 2048, 1)); got != nil {
		t.Errorf("an unknown device has the estimate %+v", got)
	}
}
