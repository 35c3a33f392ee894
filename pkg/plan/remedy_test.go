package plan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
)

// changeOf is the suggestion of a kind that starts with some text.
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
	two, four := host("a", false, many(2, l40s)...), host("a", false, many(4, l40s)...)
	in8 := func(s *specOf) { s.KVCacheType = "FP8" }
	tuning := func(w v1alpha1.TrainingWorkload) func(*specOf) {
		return func(s *specOf) { s.Workload, s.Engine = v1alpha1.Workload{Training: &w}, v1alpha1.EngineTorch }
	}
	limit := func(ttft, tpot int32) func(*specOf) {
		return func(s *specOf) {
			if ttft > 0 {
				s.Workload.Inference.MaxTTFTMillis = &ttft
			}
			if tpot > 0 {
				s.Workload.Inference.MaxTPOTMillis = &tpot
			}
		}
	}
	rack := func(s *specOf) { s.Topology = &v1alpha1.TopologyRequirements{Required: ptr("kubernetes.io/hostname")} }
	for name, test := range map[string]struct {
		nodes        []fleet.Node
		request      Request
		reason, kind string
		want         string
	}{
		"weights": {
			[]fleet.Node{two},
			ask(llama(t, 70), 4096, 2, format("BF16")), ReasonTooLarge, KindPrecision,
			"quantization FP8 instead of BF16 (weights 67.7 GiB instead of 131.4 GiB)",
		},
		"weights of another kind": {
			[]fleet.Node{host("a", false, t4)}, ask(llama(t, 8), 4096, 1, format("BF16")), ReasonNoMatch, KindPrecision, "quantization INT8 instead of BF16",
		},
		"cache":     {[]fleet.Node{two}, ask(llama(t, 70), 131072, 2), ReasonTooLarge, KindPrecision, "kvCacheType FP8 instead of BF16"},
		"context":   {[]fleet.Node{two}, ask(llama(t, 70), 131072, 5, in8), ReasonTooLarge, KindContext, "maxModelLen 54272 instead of 131072"},
		"sequences": {[]fleet.Node{two}, ask(llama(t, 8), 1024, 5000, format("INT4"), in8), ReasonTooLarge, KindSequences, "maxSequences 1092 instead of 5000"},
		"copies":    {[]fleet.Node{four}, ask(llama(t, 8), 1024, 1, replicas(7)), ReasonTooFewDevices, KindCopies, "replicas 4 instead of 7"},
		"copies by data": {
			[]fleet.Node{four},
			ask(llama(t, 8), 1024, 1, parallelism(v1alpha1.Parallelism{Data: ptr(int32(3))}), replicas(2)), ReasonTooFewDevices, KindCopies,
			"replicas 4 without parallelism.data instead of 2 times 3",
		},
		"degrees": {
			[]fleet.Node{four},
			ask(llama(t, 8), 1024, 1, parallelism(v1alpha1.Parallelism{Tensor: ptr(int32(8)), Pipeline: ptr(int32(1))})), ReasonTooLarge,
			KindDegrees, "parallelism.tensor 1 instead of 8",
		},
		"two degrees": {
			[]fleet.Node{four},
			ask(llama(t, 8), 1024, 1, parallelism(v1alpha1.Parallelism{Tensor: ptr(int32(8)), Pipeline: ptr(int32(5))})), ReasonTooLarge,
			KindDegrees, "parallelism.pipeline 1 instead of 5 and parallelism.tensor 1 instead of 8",
		},
		"topology": {
			[]fleet.Node{host("a", false, l40s), host("b", false, l40s)},
			ask(llama(t, 70), 4096, 1, format("INT8"), rack), ReasonTooLarge, KindTopology,
			"topology.preferred instead of topology.required kubernetes.io/hostname",
		},
		"checkpointing": {
			[]fleet.Node{four},
			ask(llama(t, 8), 1, 1, tuning(v1alpha1.TrainingWorkload{Method: "LoRA", SequenceLength: 8192, GlobalBatch: 4, MicroBatch: 4})), ReasonTooLarge,
			KindCheckpointing, "activationCheckpointing true instead of false",
		},
		"batch": {
			[]fleet.Node{four},
			ask(llama(t, 8), 1, 1, tuning(v1alpha1.TrainingWorkload{Method: "LoRA", SequenceLength: 8192, GlobalBatch: 4, MicroBatch: 4})), ReasonTooLarge,
			KindBatch, "microBatch 2 instead of 4",
		},
		"time to the first token": {[]fleet.Node{two}, ask(llama(t, 8), 8192, 8, limit(2, 0)), ReasonLimit, KindLimit, "maxTTFTMillis"},
		"time of a token":         {[]fleet.Node{two}, ask(llama(t, 8), 8192, 8, limit(0, 2)), ReasonLimit, KindLimit, "maxTPOTMillis"},
		"both times":              {[]fleet.Node{two}, ask(llama(t, 8), 8192, 8, limit(1, 1)), ReasonLimit, KindLimit, "maxTTFTMillis"},
		"devices on the node":     {[]fleet.Node{two}, ask(llama(t, 70), 4096, 1, format("BF16")), ReasonTooLarge, KindDevices, "2 more free NVIDIA L40S on node a"},
		"devices on new nodes": {
			[]fleet.Node{host("a", true, many(2, h100)...)},
			ask(llama(t, 405), 1024, 1, format("INT4")), ReasonTooLarge, KindDevices,
			"1 more free NVIDIA H100 80GB HBM3 on 1 new node like a",
		},
		"one placement": {
			[]fleet.Node{taken(four, "", "models/a", "models/a", "models/b")},
			ask(llama(t, 70), 4096, 1, format("INT8")), ReasonTooLarge, KindMove,
			"the devices of models/b (1 NVIDIA L40S; no other free devices hold it in its shape)",
		},
		"a placement that fits elsewhere": {
			[]fleet.Node{taken(two, "models/a", ""), taken(host("b", false, l40s, l40s, t4), "models/c", "", "")},
			ask(llama(t, 70), 4096, 1, format("INT8"), rack), ReasonTooLarge, KindMove, "the devices of models/a (1 NVIDIA L40S; it fits elsewhere in its shape)",
		},
		"two placements": {
			[]fleet.Node{taken(four, "", "", "models/a", "models/b")},
			ask(llama(t, 70), 4096, 1, format("BF16")), ReasonTooLarge, KindMove,
			"the devices of models/a (1 NVIDIA L40S; no other free devices hold it in its shape) and models/b (1 NVIDIA L40S; ",
		},
		"three placements": {
			[]fleet.Node{taken(host("a", false, many(5, l40s)...), "", "models/a", "models/b", "models/c", "models/d")},
			ask(llama(t, 70), 4096, 1, format("BF16")),
			ReasonTooLarge, KindMove, "the devices of models/a (1 NVIDIA L40S; ",
		},
	} {
		t.Run(name, func(t *testing.T) {
			no := unplaceableBy(t, test.nodes, test.request)
			if _, ok := changeOf(no, test.kind, test.want); no.Reason != test.reason || !ok {
				t.Errorf("%s\ngot %s, %q\nwant %s, %s %s", no.Message, no.Reason, no.Shortfall.Suggestions, test.reason, test.kind, test.want)
			}
			if best := no.Shortfall.Suggestions[0].Change; no.Shortfall.Suggestion != best || !strings.HasSuffix(no.Message, " "+best+".") {
				t.Errorf("the best is %q, the message says %s", best, no.Message)
			}
		})
	}
}

// Of each vendor the class is named that needs the fewest further devices.
func TestMoreDevicesOfEachVendor(t *testing.T) {
	nodes := []fleet.Node{host("a", true, many(2, l40s)...), host("b", true, many(2, h100)...), host("c", true, mi300x)}
	no := unplaceableBy(t, nodes, ask(llama(t, 405), 1024, 1, format("BF16")))
	var got []string
	for _, s := range no.Shortfall.Suggestions {
		if s.Kind == KindDevices {
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
	nodes := []fleet.Node{taken(host("a", false, many(4, l40s)...), "", "", "models/"+long, "other/"+long)}
	no := unplaceableBy(t, nodes, ask(llama(t, 70), 4096, 1, format("BF16")))
	move, ok := changeOf(no, KindMove, "the devices of models/xxx")
	if !ok || len(move.Change) > maxChange || !strings.HasSuffix(move.Change, "…") {
		t.Errorf("got %v", no.Shortfall.Suggestions)
	}
	if n := len(no.Shortfall.Suggestions); n > maxSuggestions {
		t.Errorf("%d suggestions", n)
	}
}

// Nothing is suggested where no change that is thought of helps alone.
func TestNoSuggestion(t *testing.T) {
	for name, nodes := range map[string][]fleet.Node{"nothing": nil, "host processors": {host("a", false, product{"cpu", "EPYC", v1alpha1.FamilyCPU, 1 << 20, 0, nil})}} {
		no := unplaceableBy(t, nodes, ask(llama(t, 8), 4096, 1))
		if len(no.Shortfall.Suggestions) > 0 || no.Shortfall.Suggestion != "" || strings.Contains(no.Message, "would fit") {
			t.Errorf("%s: got %s", name, no.Message)
		}
	}
}

// Limits that no plan keeps have a reason of their own, and the candidates that come nearest are listed with by how much
// they miss.
func TestLimitsThatAreNotKept(t *testing.T) {
	no := unplaceableBy(t, []fleet.Node{host("a", false, many(2, l40s)...)}, ask(llama(t, 8), 8192, 8, func(s *specOf) { s.Workload.Inference.MaxTPOTMillis = ptr(int32(2)) }))
	if no.Reason != ReasonLimit || len(no.Rejected) < 2 {
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
		if r.Reason != ReasonLimit || percent < by {
			t.Errorf("got %v after %d %%", r, by)
		}
		by = percent
	}
	if want := "the nearest is " + no.Rejected[0].Strategy + " with " + no.Rejected[0].Message; !strings.Contains(no.Message, want) {
		t.Errorf("got %s", no.Message)
	}
}
