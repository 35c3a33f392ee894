package plan

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

func unplaceableBy(t *testing.T, nodes []fleet.Node, r shape.Request) *Unplaceable {
	t.Helper()
	spec, err := Plan(fleet.NewCluster(nodes), r)
	var no *Unplaceable
	if !errors.As(err, &no) {
		t.Fatalf("got %+v, %v", spec, err)
	}
	return no
}

func TestSmallestChange(t *testing.T) {
	two, four := []fleet.Node{plantest.Host("a", false, plantest.Many(2, plantest.L40s)...)}, []fleet.Node{plantest.Host("a", false, plantest.Many(4, plantest.L40s)...)}
	for name, test := range map[string]struct {
		nodes   []fleet.Node
		request shape.Request
		reason  string
		want    string
		// applied is the request with the suggestion followed.
		applied func(*plantest.Spec)
	}{
		"format": {
			two, ask(plantest.Llama(t, 70), 4096, 2, plantest.Format("BF16")), shape.ReasonTooLarge, "quantization FP8 instead of BF16 (weights 67.7 GiB instead of 131.4 GiB)",
			plantest.Format("FP8"),
		},
		"next format": {
			two, ask(plantest.Llama(t, 70), 131072, 1, plantest.Format("FP8"), func(s *plantest.Spec) { s.KVCacheType = "FP8" }), shape.ReasonTooLarge,
			"quantization INT4 instead of FP8", plantest.Format("INT4"),
		},
		"context": {
			two, ask(plantest.Llama(t, 70), 131072, 1, plantest.Format("FP8"), func(s *plantest.Spec) {
				s.KVCacheType, s.Quantization = "FP8", "INT4"
				s.Workload.Inference.MaxModelLen = 300000
			}), shape.ReasonTooLarge, "maxModelLen 271360 instead of 300000",
			func(s *plantest.Spec) { s.Workload.Inference.MaxModelLen = 271360 },
		},
		"context for a long request": {
			two, ask(plantest.Llama(t, 70), 131072, 2, plantest.Format("INT4"), func(s *plantest.Spec) {
				s.Workload.Inference.InputTokens, s.KVCacheType = plantest.Ptr(int32(100000)), "BF16"
			}), shape.ReasonTooLarge,
			"kvCacheType FP8 instead of BF16", func(s *plantest.Spec) { s.KVCacheType = "FP8" },
		},
		"sequences": {
			two, ask(plantest.Llama(t, 8), 1024, 5000, plantest.Format("INT4")), shape.ReasonTooLarge, "maxSequences 550 instead of 5000",
			func(s *plantest.Spec) { s.Workload.Inference.MaxSequences = 550 },
		},
		"copies": {
			four, ask(plantest.Llama(t, 8), 1024, 1, plantest.Format("INT4"), plantest.Replicas(7)), shape.ReasonTooFewDevices, "replicas 4 instead of 7", plantest.Replicas(4),
		},
		"devices": {
			two, ask(plantest.Llama(t, 405), 1024, 1, plantest.Format("INT4")), shape.ReasonTooLarge, "more free NVIDIA L40S", nil,
		},
		"recompute": {
			four, ask(plantest.Llama(t, 8), 1, 1, plantest.Train(v1alpha1.TrainingWorkload{Method: "LoRA", SequenceLength: 8192, GlobalBatch: 4, MicroBatch: 4, Recompute: "None"})), shape.ReasonTooLarge, "recompute Full instead of None", func(s *plantest.Spec) { s.Workload.Training.Recompute = "Full" },
		},
		"checkpoints": {
			four, ask(plantest.Llama(t, 8), 1, 1, plantest.Train(v1alpha1.TrainingWorkload{Method: "LoRA", SequenceLength: 8192, GlobalBatch: 4, MicroBatch: 4})), shape.ReasonTooLarge, "activationCheckpointing true instead of false", func(s *plantest.Spec) { s.Workload.Training.ActivationCheckpointing = true },
		},
	} {
		t.Run(name, func(t *testing.T) {
			no := unplaceableBy(t, test.nodes, test.request)
			if no.Reason != test.reason || !strings.Contains(bestOf(no), test.want) || !strings.HasSuffix(no.Message, bestOf(no)+".") {
				t.Errorf("got %s: %s", no.Reason, no.Message)
			}
			if test.applied != nil {
				test.applied(&test.request.Placement.Spec)
				checkPlan(t, test.nodes, test.request, mustPlan(t, fleet.NewCluster(test.nodes), test.request))
			}
		})
	}
}

// The number of further devices is enough, and one less is not.
func TestMoreDevicesIsTheLeast(t *testing.T) {
	r := ask(plantest.Llama(t, 405), 1024, 1, plantest.Format("INT4"))
	few := []fleet.Node{plantest.Host("a", true, plantest.Many(2, plantest.H100)...)}
	no := unplaceableBy(t, few, r)
	var more int
	if _, err := fmt.Sscanf(bestOf(no), "%d more free", &more); err != nil {
		t.Fatalf("got %q: %v", bestOf(no), err)
	}
	for _, test := range []struct {
		devices int
		fits    bool
	}{{more, true}, {more - 1, false}} {
		nodes := few
		for left := test.devices; left > 0; left -= 2 {
			nodes = append(nodes[:len(nodes):len(nodes)], plantest.Host(fmt.Sprint("b", left), true, plantest.Many(min(2, left), plantest.H100)...))
		}
		if _, err := Plan(fleet.NewCluster(nodes), r); (err == nil) != test.fits {
			t.Errorf("%d more devices: %v", test.devices, err)
		}
	}
}

func TestReasons(t *testing.T) {
	taken := plantest.Host("a", false, plantest.Many(2, plantest.L40s)...)
	taken.Unschedulable = true
	cpu := plantest.Host("a", false, plantest.Product{Vendor: "cpu", Name: "EPYC", Family: v1alpha1.FamilyCPU, MiB: 1 << 20})
	for name, test := range map[string]struct {
		nodes  []fleet.Node
		change func(*plantest.Spec)
		reason string
		want   string
	}{
		"no nodes":      {nil, plantest.Replicas(1), shape.ReasonNoDevices, "No node has an accelerator"},
		"only the host": {[]fleet.Node{cpu}, plantest.Replicas(1), shape.ReasonNoDevices, "No node has an accelerator"},
		"nodes away":    {[]fleet.Node{taken}, plantest.Replicas(1), shape.ReasonNoneFree, "2 on nodes that take no new work"},
		"formats":       {[]fleet.Node{plantest.Host("a", false, plantest.T4)}, plantest.Format("BF16"), shape.ReasonUnsupported, "it runs no weights in BF16 on Tesla T4 of nvidia"},
		"too small":     {[]fleet.Node{plantest.Host("a", false, plantest.T4)}, plantest.Format("FP32"), shape.ReasonTooLarge, "quantization INT8 instead of FP32"},
		"not enough":    {[]fleet.Node{plantest.Host("a", false, plantest.Many(2, plantest.L40s)...)}, func(s *plantest.Spec) { s.Replicas = plantest.Ptr(int32(9)) }, shape.ReasonTooFewDevices, "replicas 2 instead of 9"},
	} {
		t.Run(name, func(t *testing.T) {
			no := unplaceableBy(t, test.nodes, ask(plantest.Llama(t, 8), 4096, 1, test.change))
			if no.Reason != test.reason || !strings.Contains(no.Message, test.want) || no.Shortfall.NeededMiB < 4000 {
				t.Errorf("got %s (%+v): %s", no.Reason, no.Shortfall, no.Message)
			}
		})
	}
}

func TestRejectedFormsAreListedWithNumbers(t *testing.T) {
	nodes := []fleet.Node{plantest.Host("a", true, plantest.Many(2, plantest.H100)...)}
	spec := mustPlan(t, fleet.NewCluster(nodes), ask(plantest.Llama(t, 70), 8192, 8))
	wants := []v1alpha1.RejectedPlan{
		{Strategy: "PP2 on NVIDIA H100 80GB HBM3", Reason: shape.ReasonWorse, Message: "(41.0 % worse); TTFT 807 ms instead of 474; TPOT 38.0 ms instead of 22.5; 9.02 USD instead of 5.33 for a million tokens"},
		{Strategy: "None on NVIDIA H100 80GB HBM3", Reason: shape.ReasonTooLarge, Message: "a device needs 92.6 GiB (weights 67.7 GiB, KV cache 20.0 GiB, activations 4.8 GiB, overhead 133 MiB) and offers 71.1 GiB at most"},
		{Strategy: "None BF16", Reason: shape.ReasonTooLarge, Message: "GiB"},
		{Strategy: "TP2 BF16", Reason: shape.ReasonTooLarge, Message: "GiB"},
		{Strategy: "PP2 BF16", Reason: shape.ReasonTooLarge, Message: "GiB"},
	}
	if len(spec.Rejected) != len(wants) {
		t.Fatalf("got %+v", spec.Rejected)
	}
	for i, want := range wants {
		r := spec.Rejected[i]
		if r.Strategy != want.Strategy || r.Reason != want.Reason || !strings.Contains(r.Message, want.Message) {
			t.Errorf("got %+v, want %+v", r, want)
		}
	}
}

// TestAsGoodIsNotWorse: what is listed as worse is worse, and a shape that would be a little better is said to be as good.
func TestAsGoodIsNotWorse(t *testing.T) {
	spec := mustPlan(t, fleet.NewCluster(manyHosts(2)), ask(catalogued(t, "DeepSeek-V3"), 8192, 64))
	asGood := 0
	for _, r := range spec.Rejected {
		if better := strings.Contains(r.Message, "% better)"); better && r.Reason == shape.ReasonWorse || r.Reason == shape.ReasonAsGood && strings.Contains(r.Message, "% worse)") {
			t.Errorf("%+v", r)
		}
		if r.Reason == shape.ReasonAsGood {
			asGood++
		}
	}
	if asGood == 0 {
		t.Errorf("%s: none is as good: %+v", spec.Strategy.Summary, spec.Rejected)
	}
}
