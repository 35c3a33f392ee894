package shape_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/model"
	"github.com/rankwright/rankwright/pkg/plan"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

// written is a plan or the reason why there is none, to the byte.
func written(t *testing.T, c *fleet.Cluster, r shape.Request) string {
	t.Helper()
	spec, err := plan.Plan(c, r)
	raw, marshalErr := json.MarshalIndent([]any{spec, err}, "", " ")
	if marshalErr != nil {
		t.Fatal(marshalErr)
	}
	return fmt.Sprintf("%s\n%v", raw, err)
}

// TestFiguresOfEarlierPlansChangeNoPlan holds the plans of an index that knows figures of other clusters and requests to
// the plans of an index that knows none.
func TestFiguresOfEarlierPlansChangeNoPlan(t *testing.T) {
	const requests = 12
	knowing, alone := fleet.NewCluster(nil), int64(0)
	for seed := range uint64(240) {
		nodes := plantest.Draw(t, seed, 7).Nodes(8)
		r := plantest.Draw(t, seed%requests, 8)
		m := r.Model(8)
		request := shape.Request{Placement: r.Request(m, 8), Model: m}
		fresh := fleet.NewCluster(nodes)
		for _, n := range slices.Clone(knowing.Nodes()) {
			knowing.Remove(n.Name)
		}
		for _, n := range nodes {
			knowing.Update(n)
		}
		if diff := cmp.Diff(written(t, fresh, request), written(t, knowing, request)); diff != "" {
			t.Fatalf("case %d (-fresh +with figures):\n%s", seed, diff)
		}
		alone += shape.Held(fresh)
	}
	if held := shape.Held(knowing); held*3 > alone*2 {
		t.Errorf("%d figures are kept where plans by themselves need %d: few are used again", held, alone)
	}
}

// What the caller changes in its model, its placement or its nodes is seen by the next plan.
func TestChangesInPlaceAreSeen(t *testing.T) {
	t.Run("serving", func(t *testing.T) {
		m := smallMixture(t)
		request := ask(m, 8192, 16)
		spec := &request.Placement.Spec
		seesChanges(t, request, append(modelChanges(m), servingChanges(spec, spec.Workload.Inference)...))
	})
	t.Run("training", func(t *testing.T) {
		m := smallMixture(t)
		w := &v1alpha1.TrainingWorkload{SequenceLength: 2048, GlobalBatch: 16, Sharding: "ZeRO3"}
		request := ask(m, 1, 1, func(s *plantest.Spec) { s.Engine, s.Workload = v1alpha1.EngineMegatron, v1alpha1.Workload{Training: w} })
		seesChanges(t, request, append(modelChanges(m), trainingChanges(w)...))
	})
}

func smallMixture(t *testing.T) *model.Model {
	t.Helper()
	a := plantest.Llama(t, 8).Architecture
	a.Layers, a.MoE = 16, &v1alpha1.MoE{Experts: 8, ActiveExperts: 2, IntermediateSize: 4096}
	m, err := model.FromArchitecture("mixture", a)
	if err != nil {
		t.Fatal(err)
	}
	m.Assumptions = []string{"one"}
	return m
}

// seesChanges makes one change after the other and compares the plans of an index that knows figures from before with those
// of a fresh one.
func seesChanges(t *testing.T, request shape.Request, changes []inPlace) {
	t.Helper()
	nodes := []fleet.Node{plantest.Host("a", true, plantest.Times8(plantest.H100)...), plantest.Host("b", false, plantest.Many(4, plantest.L40s)...)}
	status := &nodes[0].Inventory.Status
	changes = append(changes,
		inPlace{"memory", func() { status.Devices[0].Memory.TotalMiB /= 4 }},
		inPlace{"bandwidth", func() { status.Devices[1].Performance.MemoryBandwidthMBps /= 2 }},
		inPlace{"links", func() { status.Links.Domains[0].DeviceMBps = 1000 }},
	)
	c := fleet.NewCluster(nodes)
	last, seen := written(t, c, request), 0
	for _, change := range changes {
		change.make()
		c.Update(nodes[0])
		got := written(t, c, request)
		if diff := cmp.Diff(written(t, fleet.NewCluster(nodes), request), got); diff != "" {
			t.Fatalf("after a change of %s (-fresh +with figures):\n%s", change.of, diff)
		}
		if got != last {
			seen++
		}
		last = got
	}
	if seen*3 < len(changes)*2 {
		t.Errorf("%d of %d changes made another plan: the others are too small", seen, len(changes))
	}
}

// inPlace changes what the caller holds.
type inPlace struct {
	of   string
	make func()
}

func modelChanges(m *model.Model) []inPlace {
	a := &m.Architecture
	return []inPlace{
		{"layers", func() { a.Layers = 40 }},
		{"KV heads", func() { a.Attention.KVHeads = 4 }},
		{"experts", func() { a.MoE.IntermediateSize = 2048 }},
		{"shared experts", func() { a.MoE.SharedIntermediateSize = 1024 }},
		{"tied embeddings", func() { a.TiedEmbeddings = true }},
		{"recurrent layers", func() {
			a.Recurrent = &v1alpha1.Recurrent{Kind: "GatedDelta", KeyHeads: 8, KeyHeadDim: 128, ValueHeads: 8, ValueHeadDim: 128, AttentionEvery: 4}
		}},
		{"heads of recurrent layers", func() { a.Recurrent.ValueHeadDim = 64 }},
		{"name", func() { m.Name = "another" }},
		{"assumptions", func() { m.Assumptions[0] = "two" }},
		{"native precision", func() { m.Native = v1alpha1.FP8 }},
	}
}

func servingChanges(s *plantest.Spec, in *v1alpha1.InferenceWorkload) []inPlace {
	return []inPlace{
		{"maxModelLen", func() { in.MaxModelLen = 32768 }},
		{"maxSequences", func() { in.MaxSequences = 64 }},
		{"inputTokens", func() { in.InputTokens = plantest.Ptr(int32(4000)) }},
		{"inputTokens again", func() { *in.InputTokens = 1000 }},
		{"outputTokens", func() { in.OutputTokens = plantest.Ptr(int32(100)) }},
		{"objective", func() { in.Objective = v1alpha1.ObjectiveLatency }},
		{"maxTTFTMillis", func() { in.MaxTTFTMillis = plantest.Ptr(int32(400)) }},
		{"maxTPOTMillis", func() { in.MaxTPOTMillis = plantest.Ptr(int32(30)) }},
		{"engine", func() { s.Engine = v1alpha1.EngineSGLang }},
		{"engine again", func() { s.Engine = v1alpha1.EngineTensorRTLLM }},
		{"quantization", func() { s.Quantization = "BF16" }},
		{"kvCacheType", func() { s.KVCacheType = "FP8" }},
		{"parallelism", func() { s.Parallelism = &v1alpha1.Parallelism{Tensor: plantest.Ptr(int32(2))} }},
		{"replicas", func() { s.Replicas = plantest.Ptr(int32(2)) }},
	}
}

func trainingChanges(w *v1alpha1.TrainingWorkload) []inPlace {
	return []inPlace{
		{"method", func() { w.Method = "LoRA" }},
		{"optimizer", func() { w.Optimizer = "SGD" }},
		{"sequenceLength", func() { w.SequenceLength = 4096 }},
		{"globalBatch", func() { w.GlobalBatch = 32 }},
		{"microBatch", func() { w.MicroBatch = 2 }},
		{"sharding", func() { w.Sharding = "None" }},
		{"activationCheckpointing", func() { w.ActivationCheckpointing = true }},
	}
}

// A cache that is asked for ever new loads forgets, and goes on.
func TestCacheIsBounded(t *testing.T) {
	c := fleet.NewCluster([]fleet.Node{plantest.Host("a", false, plantest.Many(4, plantest.L40s)...)})
	m, forgotten, most := plantest.Llama(t, 8), 0, int64(0)
	for length := int32(1024); length < 1424; length++ {
		before := shape.Held(c)
		written(t, c, ask(m, length, 4))
		held := shape.Held(c)
		if held < before {
			forgotten++
		} else {
			most = max(most, held-before)
		}
		if held > shape.MostFigures+most {
			t.Fatalf("%d figures are kept, of which a plan adds %d at most, and %d are to be kept at most", held, most, shape.MostFigures)
		}
	}
	if forgotten == 0 {
		t.Error("nothing was forgotten")
	}
}

// Plans on clones of one index may run at once, as the operator's do, while figures are first computed.
func TestPlansAtOnceShareFigures(t *testing.T) {
	nodes := []fleet.Node{plantest.Host("a", true, plantest.Times8(plantest.H100)...), plantest.Host("b", false, plantest.Many(4, plantest.L40s)...), plantest.Host("c", true, plantest.Times8(plantest.Mi300x)...)}
	index := fleet.NewCluster(nodes)
	var requests []shape.Request
	var want []string
	for _, engine := range []v1alpha1.Engine{v1alpha1.EngineVLLM, v1alpha1.EngineSGLang} {
		for _, billions := range []int{8, 70, 405} {
			requests = append(requests, ask(plantest.Llama(t, billions), 8192, 16, func(s *plantest.Spec) { s.Engine = engine }))
			want = append(want, written(t, fleet.NewCluster(nodes), requests[len(requests)-1]))
		}
	}
	var plans sync.WaitGroup
	for first := range 2 * len(requests) {
		c := index.Clone()
		plans.Go(func() {
			for i := range requests {
				at := (first + i) % len(requests)
				if diff := cmp.Diff(want[at], written(t, c, requests[at])); diff != "" {
					t.Errorf("request %d (-alone +at once):\n%s", at, diff)
				}
			}
		})
	}
	plans.Wait()
}

// ask is a request for inference with a context and a number of sequences; changes alter it.
func ask(m *model.Model, length, sequences int32, changes ...func(*plantest.Spec)) shape.Request {
	return shape.Request{Placement: plantest.Placement(length, sequences, changes...), Model: m}
}
