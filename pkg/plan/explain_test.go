package plan

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
)

func unplaceableBy(t *testing.T, nodes []fleet.Node, r Request) *Unplaceable {
	t.Helper()
	spec, err := Plan(fleet.NewCluster(nodes), r)
	var no *Unplaceable
	if !errors.As(err, &no) {
		t.Fatalf("got %+v, %v", spec, err)
	}
	return no
}

func TestSmallestChange(t *testing.T) {
	two, four := []fleet.Node{host("a", false, many(2, l40s)...)}, []fleet.Node{host("a", false, many(4, l40s)...)}
	for name, test := range map[string]struct {
		nodes   []fleet.Node
		request Request
		reason  string
		want    string
		// applied is the request with the suggestion followed.
		applied func(*specOf)
	}{
		"format": {
			two, ask(llama(t, 70), 4096, 2, format("BF16")), ReasonTooLarge, "quantization FP8 instead of BF16 (weights 67.7 GiB instead of 131.4 GiB)",
			format("FP8"),
		},
		"next format": {
			two, ask(llama(t, 70), 131072, 1, format("FP8"), func(s *specOf) { s.KVCacheType = "FP8" }), ReasonTooLarge,
			"quantization INT4 instead of FP8", format("INT4"),
		},
		"context": {
			two, ask(llama(t, 70), 131072, 1, format("FP8"), func(s *specOf) {
				s.KVCacheType, s.Quantization = "FP8", "INT4"
				s.Workload.Inference.MaxModelLen = 300000
			}), ReasonTooLarge, "maxModelLen 271360 instead of 300000",
			func(s *specOf) { s.Workload.Inference.MaxModelLen = 271360 },
		},
		"context for a long request": {
			two, ask(llama(t, 70), 131072, 2, func(s *specOf) { s.Workload.Inference.InputTokens, s.KVCacheType = ptr(int32(100000)), "BF16" }), ReasonTooLarge,
			"kvCacheType FP8 instead of BF16", func(s *specOf) { s.KVCacheType = "FP8" },
		},
		"sequences": {
			two, ask(llama(t, 8), 1024, 5000, format("INT4")), ReasonTooLarge, "maxSequences 550 instead of 5000",
			func(s *specOf) { s.Workload.Inference.MaxSequences = 550 },
		},
		"copies": {
			four, ask(llama(t, 8), 1024, 1, format("INT4"), replicas(7)), ReasonTooFewDevices, "replicas 4 instead of 7", replicas(4),
		},
		"devices": {
			two, ask(llama(t, 405), 1024, 1, format("INT4")), ReasonTooLarge, "more free NVIDIA L40S", nil,
		},
		"checkpoints": {
			four, ask(llama(t, 8), 1, 1, func(s *specOf) {
				s.Workload = v1alpha1.Workload{Training: &v1alpha1.TrainingWorkload{Method: "LoRA", SequenceLength: 8192, GlobalBatch: 4, MicroBatch: 4}}
			}), ReasonTooLarge, "activationCheckpointing true instead of false", func(s *specOf) { s.Workload.Training.ActivationCheckpointing = true },
		},
	} {
		t.Run(name, func(t *testing.T) {
			no := unplaceableBy(t, test.nodes, test.request)
			if no.Reason != test.reason || !strings.Contains(no.Shortfall.Suggestion, test.want) || !strings.HasSuffix(no.Message, no.Shortfall.Suggestion+".") {
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
	r := ask(llama(t, 405), 1024, 1, format("INT4"))
	few := []fleet.Node{host("a", true, many(2, h100)...)}
	no := unplaceableBy(t, few, r)
	var more int
	if _, err := fmt.Sscanf(no.Shortfall.Suggestion, "%d more free", &more); err != nil {
		t.Fatalf("got %q: %v", no.Shortfall.Suggestion, err)
	}
	for _, test := range []struct {
		devices int
		fits    bool
	}{{more, true}, {more - 1, false}} {
		nodes := few
		for left := test.devices; left > 0; left -= 2 {
			nodes = append(nodes[:len(nodes):len(nodes)], host(fmt.Sprint("b", left), true, many(min(2, left), h100)...))
		}
		if _, err := Plan(fleet.NewCluster(nodes), r); (err == nil) != test.fits {
			t.Errorf("%d more devices: %v", test.devices, err)
		}
	}
}

func TestReasons(t *testing.T) {
	taken := host("a", false, many(2, l40s)...)
	taken.Unschedulable = true
	cpu := host("a", false, product{"cpu", "EPYC", v1alpha1.FamilyCPU, 1 << 20, 0, nil})
	for name, test := range map[string]struct {
		nodes  []fleet.Node
		change func(*specOf)
		reason string
		want   string
	}{
		"no nodes":      {nil, replicas(1), ReasonNoDevices, "no node has an accelerator"},
		"only the host": {[]fleet.Node{cpu}, replicas(1), ReasonNoDevices, "no node has an accelerator"},
		"nodes away":    {[]fleet.Node{taken}, replicas(1), ReasonNoneFree, "2 on nodes that take no new work"},
		"formats":       {[]fleet.Node{host("a", false, t4)}, format("BF16"), ReasonNoMatch, "1 without native arithmetic for the weights"},
		"too small":     {[]fleet.Node{host("a", false, t4)}, format("FP32"), ReasonTooLarge, "quantization INT8 instead of FP32"},
		"not enough":    {[]fleet.Node{host("a", false, many(2, l40s)...)}, func(s *specOf) { s.Replicas = ptr(int32(9)) }, ReasonTooFewDevices, "replicas 2 instead of 9"},
	} {
		t.Run(name, func(t *testing.T) {
			no := unplaceableBy(t, test.nodes, ask(llama(t, 8), 4096, 1, test.change))
			if no.Reason != test.reason || !strings.Contains(no.Message, test.want) || no.Shortfall.NeededMiB < 4000 {
				t.Errorf("got %s (%+v): %s", no.Reason, no.Shortfall, no.Message)
			}
		})
	}
}

func TestRejectedFormsAreListedWithNumbers(t *testing.T) {
	nodes := []fleet.Node{host("a", true, many(2, h100)...)}
	spec := mustPlan(t, fleet.NewCluster(nodes), ask(llama(t, 70), 8192, 8))
	wants := []v1alpha1.RejectedPlan{
		{Strategy: "PP2 on NVIDIA H100 80GB HBM3", Reason: ReasonWorse, Message: "(40.4 % worse); TTFT 841 ms instead of 495; TPOT 36.9 ms instead of 22.1; 8.78 USD instead of 5.23 for a million tokens"},
		{Strategy: "None on NVIDIA H100 80GB HBM3", Reason: ReasonTooLarge, Message: "a device needs 92.6 GiB (weights 67.7 GiB, KV cache 20.0 GiB, activations 4.8 GiB, overhead 133 MiB) and offers 71.1 GiB at most"},
		{Strategy: "None BF16", Reason: ReasonTooLarge, Message: "GiB"},
		{Strategy: "TP2 BF16", Reason: ReasonTooLarge, Message: "GiB"},
		{Strategy: "PP2 BF16", Reason: ReasonTooLarge, Message: "GiB"},
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
