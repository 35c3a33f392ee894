package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/plan/remedy"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

// changeOf is the suggestion of a kind that starts with some text.
// bestOf is the change that a refusal names first; empty where there is none.
func bestOf(no *Unplaceable) string {
	if len(no.Shortfall.Suggestions) == 0 {
		return ""
	}
	return no.Shortfall.Suggestions[0].Change
}

func changeOf(no *Unplaceable, kind, prefix string) (v1alpha1.Suggestion, bool) {
	at := slices.IndexFunc(no.Shortfall.Suggestions, func(s v1alpha1.Suggestion) bool {
		return s.Kind == kind && strings.HasPrefix(s.Change, prefix)
	})
	if at < 0 {
		return v1alpha1.Suggestion{}, false
	}
	return no.Shortfall.Suggestions[at], true
}

func taken(n fleet.Node, holders ...string) fleet.Node {
	n.Taken = map[v1alpha1.DeviceID]string{}
	for i, holder := range holders {
		if holder != "" {
			n.Taken[n.Inventory.Status.Devices[i].ID] = holder
		}
	}
	return n
}

// Each kind of change is suggested where it helps.
func TestSmallestChangeOfEachKind(t *testing.T) {
	two, four := plantest.Host("a", false, plantest.Many(2, plantest.L40s)...), plantest.Host("a", false, plantest.Many(4, plantest.L40s)...)
	in8 := func(s *plantest.Spec) { s.KVCacheType = "FP8" }
	tuning := func(w v1alpha1.TrainingWorkload) func(*plantest.Spec) {
		return func(s *plantest.Spec) { s.Workload, s.Engine = v1alpha1.Workload{Training: &w}, v1alpha1.EngineTorch }
	}
	limit := func(ttft, tpot int32) func(*plantest.Spec) {
		return func(s *plantest.Spec) {
			if ttft > 0 {
				s.Workload.Inference.MaxTTFTMillis = &ttft
			}
			if tpot > 0 {
				s.Workload.Inference.MaxTPOTMillis = &tpot
			}
		}
	}
	rack := func(s *plantest.Spec) {
		s.Topology = &v1alpha1.TopologyRequirements{Required: plantest.Ptr("kubernetes.io/hostname")}
	}
	for name, test := range map[string]struct {
		nodes        []fleet.Node
		request      shape.Request
		reason, kind string
		want         string
	}{
		"weights": {
			[]fleet.Node{two},
			ask(plantest.Llama(t, 70), 4096, 2, plantest.Format("BF16")), shape.ReasonTooLarge, remedy.KindPrecision,
			"quantization FP8 instead of BF16 (weights 67.7 GiB instead of 131.4 GiB)",
		},
		"weights of no known checkpoint": {
			[]fleet.Node{two},
			ask(plantest.Llama(t, 70), 65536, 2), shape.ReasonTooLarge, remedy.KindPrecision,
			"quantization INT4 instead of FP8 (weights 37.0 GiB instead of 67.7 GiB; no checkpoint in it is known: bring one)",
		},
		"weights of another kind": {
			[]fleet.Node{plantest.Host("a", false, plantest.T4)}, ask(plantest.Llama(t, 8), 4096, 1, plantest.Format("BF16")), shape.ReasonUnsupported, remedy.KindPrecision, "quantization INT8 instead of BF16 (weights 8.5 GiB instead of 15.0 GiB; no checkpoint in it is known: bring one)",
		},
		"cache":     {[]fleet.Node{two}, ask(plantest.Llama(t, 70), 131072, 2, plantest.Format("INT4")), shape.ReasonTooLarge, remedy.KindPrecision, "kvCacheType FP8 instead of BF16"},
		"context":   {[]fleet.Node{two}, ask(plantest.Llama(t, 70), 131072, 5, plantest.Format("INT4"), in8), shape.ReasonTooLarge, remedy.KindContext, "maxModelLen 54272 instead of 131072"},
		"sequences": {[]fleet.Node{two}, ask(plantest.Llama(t, 8), 1024, 5000, plantest.Format("INT4"), in8), shape.ReasonTooLarge, remedy.KindSequences, "maxSequences 1092 instead of 5000"},
		"copies":    {[]fleet.Node{four}, ask(plantest.Llama(t, 8), 1024, 1, plantest.Replicas(7)), shape.ReasonTooFewDevices, remedy.KindCopies, "replicas 4 instead of 7"},
		"copies by data": {
			[]fleet.Node{four},
			ask(plantest.Llama(t, 8), 1024, 1, plantest.Parallelism(v1alpha1.Parallelism{Data: plantest.Ptr(int32(3))}), plantest.Replicas(2)), shape.ReasonTooFewDevices, remedy.KindCopies,
			"replicas 4 without parallelism.data instead of 2 times 3",
		},
		"sequences of all copies": {[]fleet.Node{four}, ask(plantest.Llama(t, 8), 8192, 0, plantest.Together(500), plantest.Format("BF16")), shape.ReasonTooFewDevices, remedy.KindSequences, "totalSequences 140 instead of 500"},
		"another number of copies": {[]fleet.Node{four}, ask(plantest.Llama(t, 8), 8192, 0, plantest.Together(90), plantest.Replicas(3), plantest.Format("BF16"), func(s *plantest.Spec) {
			s.Parallelism = &v1alpha1.Parallelism{Tensor: plantest.Ptr(int32(1)), Pipeline: plantest.Ptr(int32(1))}
		}), shape.ReasonTooLarge, remedy.KindCopies, "replicas 4 instead of 3"},
		"degrees": {
			[]fleet.Node{four},
			ask(plantest.Llama(t, 8), 1024, 1, plantest.Parallelism(v1alpha1.Parallelism{Tensor: plantest.Ptr(int32(8)), Pipeline: plantest.Ptr(int32(1))})), shape.ReasonTooLarge,
			remedy.KindDegrees, "parallelism.tensor 1 instead of 8",
		},
		"two degrees": {
			[]fleet.Node{four},
			ask(plantest.Llama(t, 8), 1024, 1, plantest.Parallelism(v1alpha1.Parallelism{Tensor: plantest.Ptr(int32(8)), Pipeline: plantest.Ptr(int32(5))})), shape.ReasonTooLarge,
			remedy.KindDegrees, "parallelism.pipeline 1 instead of 5 and parallelism.tensor 1 instead of 8",
		},
		"topology": {
			[]fleet.Node{plantest.Host("a", false, plantest.L40s), plantest.Host("b", false, plantest.L40s)},
			ask(plantest.Llama(t, 70), 4096, 1, plantest.Format("INT8"), rack), shape.ReasonTooLarge, remedy.KindTopology,
			"topology.preferred instead of topology.required kubernetes.io/hostname",
		},
		"checkpointing": {
			[]fleet.Node{four},
			ask(plantest.Llama(t, 8), 1, 1, tuning(v1alpha1.TrainingWorkload{Method: "LoRA", SequenceLength: 8192, GlobalBatch: 4, MicroBatch: 4})), shape.ReasonTooLarge,
			remedy.KindCheckpointing, "activationCheckpointing true instead of false",
		},
		"batch": {
			[]fleet.Node{four},
			ask(plantest.Llama(t, 8), 1, 1, tuning(v1alpha1.TrainingWorkload{Method: "LoRA", SequenceLength: 8192, GlobalBatch: 4, MicroBatch: 4})), shape.ReasonTooLarge,
			remedy.KindBatch, "microBatch 2 instead of 4",
		},
		"time to the first token": {[]fleet.Node{two}, ask(plantest.Llama(t, 8), 8192, 8, limit(2, 0)), shape.ReasonLimit, remedy.KindLimit, "maxTTFTMillis"},
		"time of a token":         {[]fleet.Node{two}, ask(plantest.Llama(t, 8), 8192, 8, limit(0, 2)), shape.ReasonLimit, remedy.KindLimit, "maxTPOTMillis"},
		"both times":              {[]fleet.Node{two}, ask(plantest.Llama(t, 8), 8192, 8, limit(1, 1)), shape.ReasonLimit, remedy.KindLimit, "maxTTFTMillis"},
		"devices on the node":     {[]fleet.Node{two}, ask(plantest.Llama(t, 70), 4096, 1, plantest.Format("BF16")), shape.ReasonTooLarge, remedy.KindDevices, "2 more free NVIDIA L40S on node a"},
		"devices on new nodes": {
			[]fleet.Node{plantest.Host("a", true, plantest.Many(2, plantest.H100)...)},
			ask(plantest.Llama(t, 405), 1024, 1, plantest.Format("INT4")), shape.ReasonTooLarge, remedy.KindDevices,
			"1 more free NVIDIA H100 80GB HBM3 on 1 new node like a",
		},
		"one placement": {
			[]fleet.Node{taken(four, "", "models/a", "models/a", "models/b")},
			ask(plantest.Llama(t, 70), 4096, 1, plantest.Format("INT8")), shape.ReasonTooLarge, remedy.KindMove,
			"the devices of models/b (1 NVIDIA L40S; no other free devices hold it in its shape)",
		},
		"a placement that fits elsewhere": {
			[]fleet.Node{taken(two, "models/a", ""), taken(plantest.Host("b", false, plantest.L40s, plantest.L40s, plantest.T4), "models/c", "", "")},
			ask(plantest.Llama(t, 70), 4096, 1, plantest.Format("INT8"), rack), shape.ReasonTooLarge, remedy.KindMove, "the devices of models/a (1 NVIDIA L40S; it fits elsewhere in its shape)",
		},
		"two placements": {
			[]fleet.Node{taken(four, "", "", "models/a", "models/b")},
			ask(plantest.Llama(t, 70), 4096, 1, plantest.Format("BF16")), shape.ReasonTooLarge, remedy.KindMove,
			"the devices of models/a (1 NVIDIA L40S; no other free devices hold it in its shape) and models/b (1 NVIDIA L40S; ",
		},
		"three placements": {
			[]fleet.Node{taken(plantest.Host("a", false, plantest.Many(5, plantest.L40s)...), "", "models/a", "models/b", "models/c", "models/d")},
			ask(plantest.Llama(t, 70), 4096, 1, plantest.Format("BF16")),
			shape.ReasonTooLarge, remedy.KindMove, "the devices of models/a (1 NVIDIA L40S; ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			no := unplaceableBy(t, test.nodes, test.request)
			if _, ok := changeOf(no, test.kind, test.want); no.Reason != test.reason || !ok {
				t.Errorf("%s\ngot %s, %q\nwant %s, %s %s", no.Message, no.Reason, no.Shortfall.Suggestions, test.reason, test.kind, test.want)
			}
			if best := no.Shortfall.Suggestions[0].Change; !strings.HasSuffix(no.Message, " "+best+".") {
				t.Errorf("the best is %q, the message says %s", best, no.Message)
			}
		})
	}
}

// Of each vendor the class is named that needs the fewest further devices.
func TestMoreDevicesOfEachVendor(t *testing.T) {
	nodes := []fleet.Node{plantest.Host("a", true, plantest.Many(2, plantest.L40s)...), plantest.Host("b", true, plantest.Many(2, plantest.H100)...), plantest.Host("c", true, plantest.Mi300x)}
	no := unplaceableBy(t, nodes, ask(plantest.Llama(t, 405), 1024, 1, plantest.Format("BF16")))
	var got []string
	for _, s := range no.Shortfall.Suggestions {
		if s.Kind == remedy.KindDevices {
			got = append(got, s.Change)
		}
	}
	want := []string{"4 more free AMD Instinct MI300X on node c", "8 more free NVIDIA H100 80GB HBM3 on 4 new nodes like b"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A refusal has no more than what the API takes, whatever the names.
func TestSuggestionsAreBounded(t *testing.T) {
	long := strings.Repeat("x", 500)
	nodes := []fleet.Node{taken(plantest.Host("a", false, plantest.Many(4, plantest.L40s)...), "", "", "models/"+long, "other/"+long)}
	no := unplaceableBy(t, nodes, ask(plantest.Llama(t, 70), 4096, 1, plantest.Format("BF16")))
	move, ok := changeOf(no, remedy.KindMove, "the devices of models/xxx")
	if !ok || len(move.Change) > remedy.MaxChange || !strings.HasSuffix(move.Change, "…") {
		t.Errorf("got %v", no.Shortfall.Suggestions)
	}
	if n := len(no.Shortfall.Suggestions); n > remedy.MaxSuggestions {
		t.Errorf("%d suggestions", n)
	}
}

// Nothing is suggested where no change that is thought of helps alone.
func TestNoSuggestion(t *testing.T) {
	for name, nodes := range map[string][]fleet.Node{"nothing": nil, "host processors": {plantest.Host("a", false, plantest.Product{Vendor: "cpu", Name: "EPYC", Family: v1alpha1.FamilyCPU, MiB: 1 << 20})}} {
		no := unplaceableBy(t, nodes, ask(plantest.Llama(t, 8), 4096, 1))
		if len(no.Shortfall.Suggestions) > 0 || strings.Contains(no.Message, "would fit") {
			t.Errorf("%s: got %s", name, no.Message)
		}
	}
}

// Limits that no plan keeps have a reason of their own, and the candidates that come nearest are listed with by how much
// they miss.
func TestLimitsThatAreNotKept(t *testing.T) {
	no := unplaceableBy(t, []fleet.Node{plantest.Host("a", false, plantest.Many(2, plantest.L40s)...)}, ask(plantest.Llama(t, 8), 8192, 8, func(s *plantest.Spec) { s.Workload.Inference.MaxTPOTMillis = plantest.Ptr(int32(2)) }))
	if no.Reason != shape.ReasonLimit || len(no.Rejected) < 2 {
		t.Fatalf("got %s with %v", no.Reason, no.Rejected)
	}
	by := -1
	for _, r := range no.Rejected {
		var percent int
		text := r.Message
		if _, after, ok := strings.Cut(text, "sequences, "); !ok {
			t.Fatalf("got %s", text)
		} else if _, err := fmt.Sscanf(after, "%d %% above the limit of 2 ms", &percent); err != nil {
			t.Fatalf("got %s: %v", text, err)
		}
		if r.Reason != shape.ReasonLimit || percent < by {
			t.Errorf("got %v after %d %%", r, by)
		}
		by = percent
	}
	if want := "the nearest is " + no.Rejected[0].Strategy + " with " + no.Rejected[0].Message; !strings.Contains(no.Message, want) {
		t.Errorf("got %s", no.Message)
	}
}

// What is too large for the devices is not near to the limits: copies that share a load in an open number are tried in more than there is room for.
func TestTooLargeIsNotNearALimit(t *testing.T) {
	no := unplaceableBy(t, manyHosts(4), ask(catalogued(t, "DeepSeek-R1"), 2048, 0, plantest.Together(64), func(s *plantest.Spec) { s.Workload.Inference.MaxTPOTMillis = plantest.Ptr(int32(5)) }))
	if no.Reason != shape.ReasonLimit || len(no.Rejected) == 0 || no.Rejected[0].Reason == shape.ReasonLimit {
		t.Fatalf("got %s with %v", no.Reason, no.Rejected)
	}
	if !strings.Contains(no.Message, "that fits, but no plan keeps the limits.") {
		t.Errorf("got %s", no.Message)
	}
}
