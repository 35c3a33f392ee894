package plan

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/mesh"
	"github.com/rankwright/rankwright/pkg/model"
	"github.com/rankwright/rankwright/pkg/plan/explain"
	"github.com/rankwright/rankwright/pkg/plan/synthetic"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

func catalogued(t testing.TB, name string) *model.Model {
	t.Helper()
	m, err := model.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// training are the engines that train, the others serve.
var training = []v1alpha1.Engine{v1alpha1.EngineMegatron, v1alpha1.EngineDeepSpeed, v1alpha1.EngineTorch, v1alpha1.EngineJAX}

// TestProposalsOfTheCatalogue holds every degree that the planner would try, for every model of the catalogue in every
// format that it tries and every tensor degree up to 64, to the documented checks of the engine.
func TestProposalsOfTheCatalogue(t *testing.T) {
	counts := map[v1alpha1.Engine]int{}
	for e := range rules {
		for _, name := range model.Names() {
			m := catalogued(t, name)
			change := plantest.EngineOf(e)
			if slices.Contains(training, e) {
				change = both(change, plantest.Train(v1alpha1.TrainingWorkload{SequenceLength: 8192, GlobalBatch: 32, Sharding: "ZeRO1"}))
			}
			r := ask(m, 8192, 8, change)
			problem, err := shape.New(fleet.NewCluster(nil), r)
			if err != nil {
				t.Fatal(err)
			}
			steps := problem.Ladder
			if m.Native == v1alpha1.FP8 && problem.Workload.Training == nil && steps[0].Weights != v1alpha1.FP8 {
				t.Fatalf("%s is tried in %v first", name, steps[0].Weights)
			}
			for _, s := range steps {
				tensors := map[int]bool{}
				for _, divided := range []bool{false, true} {
					for _, d := range problem.Choices(shape.Setting{Format: s, Variant: shape.Variant{Divided: divided}}, &shape.Flavor{Pool: &shape.Pool{Vendor: "nvidia"}, Limit: 64, Devices: 4096}) {
						counts[e]++
						tensors[d.Tensor] = true
						strategy := v1alpha1.Strategy{
							Tensor: int32(d.Tensor), Pipeline: 1, Data: int32(d.Data), Expert: int32(d.Expert), Context: int32(d.Context), DecodeContext: int32(d.Decode), Replicas: 1,
							Summary: fmt.Sprintf("%+v", d),
						}
						spec := &v1alpha1.ShardingPlanSpec{Engine: e, Quantization: s.Weights}
						checkLegal(t, r, spec, v1alpha1.PlanShape{Strategy: strategy, Stages: []v1alpha1.Stage{{LastLayer: m.Architecture.Layers - 1}}})
					}
				}
				if !tensors[1] {
					t.Errorf("%s, %s in %s: a single tensor rank is not tried", e, name, s.Weights)
				}
			}
		}
	}
	for e := range rules {
		if counts[e] < len(model.Names()) {
			t.Errorf("%s: %d degrees of %d models", e, counts[e], len(model.Names()))
		}
	}
	t.Logf("degrees held to the checks: %v", counts)
}

// Every plan, whatever is asked for, is one that its engine runs: legal degrees and splits, ranks that fit their devices and
// form a mesh.
func TestPlansAreLegal(t *testing.T) {
	names, planned := model.Names(), map[v1alpha1.Engine]int{}
	all := slices.Sorted(maps.Keys(rules))
	rapid.Check(t, func(rt *rapid.T) {
		var nodes []fleet.Node
		for i := range rapid.IntRange(1, 4).Draw(rt, "nodes") {
			p := rapid.SampledFrom([]plantest.Product{plantest.H200, plantest.H100, plantest.Mi300x, plantest.A100}).Draw(rt, "product")
			nodes = append(nodes, plantest.Host(fmt.Sprint("n", i), rapid.IntRange(0, 3).Draw(rt, "linked") > 0, plantest.Times8(p)...))
		}
		m, e := catalogued(t, rapid.SampledFrom(names).Draw(rt, "model")), rapid.SampledFrom(all).Draw(rt, "engine")
		changes := []func(*plantest.Spec){plantest.EngineOf(e), plantest.Replicas(rapid.Int32Range(1, 2).Draw(rt, "replicas"))}
		if slices.Contains(training, e) || e == v1alpha1.EngineMPI && rapid.Bool().Draw(rt, "train") {
			changes = append(changes, plantest.Train(v1alpha1.TrainingWorkload{
				SequenceLength: rapid.SampledFrom([]int32{1024, 8192, 131072, 1 << 20}).Draw(rt, "sequence"), GlobalBatch: rapid.SampledFrom([]int32{1, 6, 64}).Draw(rt, "batch"),
				Sharding: rapid.SampledFrom([]v1alpha1.TrainingSharding{"None", "ZeRO1", "ZeRO3"}).Draw(rt, "sharding"), ActivationCheckpointing: true,
				Method: rapid.SampledFrom([]v1alpha1.TrainingMethod{"Full", "LoRA"}).Draw(rt, "method"),
			}))
		}
		var p v1alpha1.Parallelism
		for _, degree := range []struct {
			name  string
			asked **int32
		}{{"tensor", &p.Tensor}, {"pipeline", &p.Pipeline}, {"data", &p.Data}, {"context", &p.Context}, {"expert", &p.Expert}} {
			if rapid.IntRange(0, 3).Draw(rt, degree.name+" is asked for") == 0 {
				*degree.asked = plantest.Ptr(rapid.SampledFrom([]int32{1, 2, 3, 4, 8}).Draw(rt, degree.name))
				changes = append(changes, plantest.Parallelism(p))
			}
		}
		r := ask(m, rapid.SampledFrom([]int32{2048, 32768, 131072}).Draw(rt, "length"), rapid.SampledFrom([]int32{1, 16, 128}).Draw(rt, "sequences"), changes...)
		spec, err := Plan(fleet.NewCluster(nodes), r)
		var no *Unplaceable
		var bad *shape.InvalidRequest
		if err != nil && !errors.As(err, &no) && !errors.As(err, &bad) {
			rt.Fatal(err)
		}
		if err != nil {
			return
		}
		planned[e]++
		checkPlan(rt, nodes, r, spec)
		for name, degrees := range map[string][2]*int32{
			"tensor": {p.Tensor, &spec.Strategy.Tensor}, "pipeline": {p.Pipeline, &spec.Strategy.Pipeline}, "context": {p.Context, &spec.Strategy.Context},
		} {
			if degrees[0] != nil && *degrees[0] != *degrees[1] {
				rt.Errorf("%s %d is asked for, the plan is %s", name, *degrees[0], spec.Strategy.Summary)
			}
		}
	})
	if len(planned) < len(all)/2 {
		t.Errorf("plans by engine: %v", planned)
	}
}

// TestBlocksDecideTheDegrees holds degrees to published answers: vLLM and SGLang refuse MiniMax-M2's experts of 1536, and
// Qwen3-235B in FP8, at tensor 8 and run both with expert parallelism; DeepSeek-R1 runs at tensor 8 and 16.
func TestBlocksDecideTheDegrees(t *testing.T) {
	for _, test := range []struct {
		model  string
		tensor int32
		want   string
	}{
		{"DeepSeek-R1", 8, "1 8"},
		{"DeepSeek-R1", 16, "1 16"},
		{"MiniMax-M2", 4, "1 4"},
		{"MiniMax-M2", 8, "8"},
	} {
		m := catalogued(t, test.model)
		problem, err := shape.New(fleet.NewCluster(nil), ask(m, 8192, 8, plantest.Parallelism(v1alpha1.Parallelism{Tensor: plantest.Ptr(test.tensor)})))
		if err != nil {
			t.Fatal(err)
		}
		var experts []string
		for _, d := range problem.Choices(shape.Setting{Format: problem.Ladder[0]}, &shape.Flavor{Pool: &shape.Pool{Vendor: "nvidia"}, Limit: 64, Devices: 64}) {
			if d.Data == 1 {
				experts = append(experts, fmt.Sprint(d.Expert))
			}
		}
		if got := strings.Join(slices.Compact(experts), " "); got != test.want {
			t.Errorf("%s at tensor %d: expert degrees %s, want %s", test.model, test.tensor, got, test.want)
		}
	}
}

// TestContextIsKeptTo plans the context degrees that are asked for: rows, totals and ranks.
func TestContextIsKeptTo(t *testing.T) {
	nodes := []fleet.Node{plantest.Host("a", true, plantest.Times8(plantest.H100)...), plantest.Host("b", true, plantest.Times8(plantest.H100)...)}
	for _, test := range []struct {
		name    string
		change  func(*plantest.Spec)
		summary string
		devices int32
	}{
		{"serving", plantest.Parallelism(v1alpha1.Parallelism{Tensor: plantest.Ptr(int32(2)), Context: plantest.Ptr(int32(2))}), "TP2 CP2", 4},
		{"in an island", both(plantest.EngineOf("Megatron"), plantest.Train(v1alpha1.TrainingWorkload{SequenceLength: 8192, GlobalBatch: 8, Sharding: "ZeRO1"}),
			plantest.Parallelism(v1alpha1.Parallelism{Tensor: plantest.Ptr(int32(2)), Context: plantest.Ptr(int32(4)), Data: plantest.Ptr(int32(2))})), "TP2 DP2 CP4", 16},
		{"over islands", both(plantest.EngineOf("Torch"), plantest.Train(v1alpha1.TrainingWorkload{SequenceLength: 8192, GlobalBatch: 8, Sharding: "FSDP"}),
			plantest.Parallelism(v1alpha1.Parallelism{Tensor: plantest.Ptr(int32(4)), Context: plantest.Ptr(int32(4)), Data: plantest.Ptr(int32(1))})), "TP4 CP4", 16},
		{"with stages", both(plantest.EngineOf("Megatron"), plantest.Train(v1alpha1.TrainingWorkload{SequenceLength: 8192, GlobalBatch: 8}),
			plantest.Parallelism(v1alpha1.Parallelism{Tensor: plantest.Ptr(int32(2)), Context: plantest.Ptr(int32(2)), Pipeline: plantest.Ptr(int32(2)), Data: plantest.Ptr(int32(2))})), "TP2 PP2 DP2 CP2", 16},
	} {
		r := ask(plantest.Llama(t, 8), 8192, 4, test.change)
		spec := mustPlan(t, fleet.NewCluster(nodes), r)
		checkPlan(t, nodes, r, spec)
		if spec.Strategy.Summary != test.summary || spec.Totals.Devices != test.devices {
			t.Errorf("%s: got %s on %d devices, want %s on %d", test.name, spec.Strategy.Summary, spec.Totals.Devices, test.summary, test.devices)
		}
		described, err := mesh.FromPlan("p", spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(described.Groups, func(g v1alpha1.ProcessGroups) bool { return g.Name == "cp" })
		if at < 0 || described.Groups[at].Size != spec.Strategy.Context || described.WorldSize != test.devices {
			t.Errorf("%s: a mesh of %d ranks with groups %+v", test.name, described.WorldSize, described.Groups)
		}
		again := r
		again.Previous = spec
		if diff := cmp.Diff(spec.Nodes, mustPlan(t, fleet.NewCluster(nodes), again).Nodes); diff != "" {
			t.Errorf("%s: planned again, devices change (-first +second):\n%s", test.name, diff)
		}
	}
}

// TestContextIsChosenWhereNothingElseHolds trains on sequences whose activations fit no tensor group and no pipeline.
func TestContextIsChosenWhereNothingElseHolds(t *testing.T) {
	nodes := []fleet.Node{plantest.Host("a", true, plantest.Times8(plantest.H200)...), plantest.Host("b", true, plantest.Times8(plantest.H200)...)}
	workload := v1alpha1.TrainingWorkload{SequenceLength: 8192, GlobalBatch: 8, Sharding: "ZeRO1", ActivationCheckpointing: true}
	for sequence, want := range map[int32]bool{8192: false, 1 << 19: true} {
		workload.SequenceLength = sequence
		r := ask(plantest.Llama(t, 8), 1, 1, plantest.EngineOf("Megatron"), plantest.Train(workload))
		spec := mustPlan(t, fleet.NewCluster(nodes), r)
		checkPlan(t, nodes, r, spec)
		if said := strings.Contains(strings.Join(spec.Model.Assumptions, "; "), "context ranks share"); (spec.Strategy.Context > 1) != want || said != want {
			t.Errorf("%d tokens: %s, %v", sequence, spec.Strategy.Summary, spec.Model.Assumptions)
		}
		if !want {
			continue
		}
		explained, err := explain.Explain(fleet.NewCluster(nodes), r, spec)
		if err != nil {
			t.Fatal(err)
		}
		if step := explained.Parts[0].Times.Step; shape.Rounded(step.Value*1e3) != spec.Estimate.StepMillis.Value || explained.Shapes == 0 {
			t.Errorf("the explanation counts %g s a step and %d shapes, the plan says %d ms", step.Value, explained.Shapes, spec.Estimate.StepMillis.Value)
		}
		r = ask(plantest.Llama(t, 8), 1, 1, plantest.EngineOf("Megatron"), plantest.Train(workload), plantest.Parallelism(v1alpha1.Parallelism{Context: plantest.Ptr(int32(1))}))
		var no *Unplaceable
		if _, err := Plan(fleet.NewCluster(nodes), r); !errors.As(err, &no) {
			t.Errorf("without context ranks: %v", err)
		}
	}
}

// TestDecodeContext serves DeepSeek-R1 at tensor 8, where every rank would keep the same latent: its tokens are shared out where that makes
// room, or is faster, which takes long contexts.
func TestDecodeContext(t *testing.T) {
	nodes := []fleet.Node{plantest.Host("a", true, plantest.Times8(plantest.H200)...)}
	for _, test := range []struct {
		engine            v1alpha1.Engine
		length, sequences int32
		want              int32
	}{
		{"vLLM", 8192, 2, 0}, {"vLLM", 131072, 2, 2}, {"vLLM", 131072, 32, 8}, {"SGLang", 131072, 2, 0},
	} {
		r := ask(catalogued(t, "DeepSeek-R1"), test.length, test.sequences, plantest.EngineOf(test.engine), plantest.Parallelism(v1alpha1.Parallelism{Tensor: plantest.Ptr(int32(8)), Data: plantest.Ptr(int32(1))}))
		spec := mustPlan(t, fleet.NewCluster(nodes), r)
		checkPlan(t, nodes, r, spec)
		if spec.Strategy.DecodeContext != test.want || spec.KVCacheType != v1alpha1.BF16 && test.engine == "vLLM" {
			t.Errorf("%s, %d sequences of %d: %s with a cache in %s, want decode context %d", test.engine, test.sequences, test.length, spec.Strategy.Summary, spec.KVCacheType, test.want)
		}
		if test.want == 0 {
			continue
		}
		if text := strings.Join(spec.Model.Assumptions, "; "); !strings.Contains(text, fmt.Sprintf("--decode-context-parallel-size %d", test.want)) {
			t.Errorf("%d sequences: %s", test.sequences, text)
		}
		again := r
		again.Previous = spec
		if kept := mustPlan(t, fleet.NewCluster(nodes), again); kept.Strategy.DecodeContext != test.want {
			t.Errorf("planned again: %s", kept.Strategy.Summary)
		}
	}
}

// TestSharedTokensArePricedAlways has a mixture that two hosts just hold: left alone, the planner finds a plan that is at least as fast as
// the one that a tensor degree leads it to.
func TestSharedTokensArePricedAlways(t *testing.T) {
	c := fleet.NewCluster(manyHosts(2))
	rate := func(change ...func(*plantest.Spec)) int64 {
		spec := mustPlan(t, c, ask(catalogued(t, "Kimi-K2"), 32768, 32, change...))
		t.Log(spec.Strategy.Summary, spec.Estimate.TokensPerSecond, spec.Estimate.Basis)
		if spec.Strategy.DecodeContext < 2 || !strings.HasPrefix(spec.Estimate.Basis, "roofline") {
			t.Errorf("%s has decode context %d, by %s", spec.Strategy.Summary, spec.Strategy.DecodeContext, spec.Estimate.Basis)
		}
		return spec.Estimate.TokensPerSecond.Value
	}
	free, held := rate(), rate(plantest.Parallelism(v1alpha1.Parallelism{Tensor: plantest.Ptr(int32(8))}))
	if free < held {
		t.Errorf("%d tokens/s, and %d with tensor 8", free, held)
	}
}

// TestExpertsOverHosts gives each device of one, two and four hosts 128 sequences of a mixture, whose experts are shared out to all: the
// estimate says that it rests on the roofline, and a device loses at most what the exchange of tokens takes of the wider shape's steps and prompts.
func TestExpertsOverHosts(t *testing.T) {
	planned, err := synthetic.Lookup("h200x8")
	if err != nil {
		t.Fatal(err)
	}
	type answer struct{ rate, exchanged float64 }
	served := func(e v1alpha1.Engine, hosts int) answer {
		nodes, err := synthetic.Build(synthetic.Spec{Nodes: []synthetic.Count{{Shape: planned, Nodes: hosts}}, Pattern: synthetic.Islands})
		if err != nil {
			t.Fatal(err)
		}
		ranks := int32(8 * hosts)
		r, basis := ask(catalogued(t, "DeepSeek-R1"), 2048, 128*ranks, plantest.EngineOf(e), plantest.Parallelism(v1alpha1.Parallelism{Tensor: plantest.Ptr(int32(1)), Data: plantest.Ptr(ranks)})), "roofline"
		if hosts == 1 {
			basis = "related"
		}
		spec := mustPlan(t, fleet.NewCluster(nodes), r)
		checkPlan(t, nodes, r, spec)
		if s := spec.Strategy; s.Data != ranks || s.Expert != ranks || s.Tensor != 1 || spec.Quantization != v1alpha1.FP8 || !strings.HasPrefix(spec.Estimate.Basis, basis) {
			t.Fatalf("%s: %s in %s, %s; want %d data ranks in FP8, by %s", e, s.Summary, spec.Quantization, spec.Estimate.Basis, ranks, basis)
		}
		if said := strings.Contains(strings.Join(spec.Model.Assumptions, "; "), "--enable-eplb"); said != (hosts > 1) || spec.StepLimits.Tokens < 2048 {
			t.Errorf("%s, %d hosts: %v, %v", e, hosts, spec.StepLimits, spec.Model.Assumptions)
		}
		explained, err := explain.Explain(fleet.NewCluster(nodes), r, spec)
		if err != nil {
			t.Fatal(err)
		}
		step := explained.Parts[0].Times.Serving.Mixed
		a := answer{rate: float64(spec.Estimate.TokensPerSecond.Value) / float64(ranks)}
		for _, o := range step.Stages[0].Operators {
			if o.Name == "expert exchange" {
				a.exchanged = o.Seconds / step.Seconds
			}
		}
		t.Logf("%s: %s in %s, %.0f tokens/s a device, %.1f %% of a mixed step is exchange", e, spec.Strategy.Summary, spec.Quantization, a.rate, a.exchanged*100)
		return a
	}
	for _, e := range []v1alpha1.Engine{"vLLM", "SGLang"} {
		alone := served(e, 1)
		for _, hosts := range []int{2, 4} {
			if wide := served(e, hosts); wide.rate < alone.rate*(1-wide.exchanged) {
				t.Errorf("%s: %.0f tokens/s a device on %d hosts, and %.0f on one, of which exchange takes %.1f %%", e, wide.rate, hosts, alone.rate, wide.exchanged*100)
			}
		}
	}
}

// TestDataRanksShareSequences: the limit of sequences in a step is of each data rank, and so is the memory for it. No rank is given room for all of them.
func TestDataRanksShareSequences(t *testing.T) {
	ranks, sequences := int32(32), int32(8192)
	degrees := plantest.Parallelism(v1alpha1.Parallelism{Tensor: plantest.Ptr(int32(1)), Data: plantest.Ptr(ranks)})
	for e, want := range map[v1alpha1.Engine]int64{"vLLM": 1024, "SGLang": 256} {
		r := ask(catalogued(t, "DeepSeek-R1"), 2048, sequences, plantest.EngineOf(e), degrees)
		spec := mustPlan(t, fleet.NewCluster(manyHosts(4)), r)
		if got := spec.StepLimits.Sequences; got != want {
			t.Errorf("%s: %d sequences on %d ranks: a step of each has up to %d, want %d", e, sequences, ranks, got, want)
		}
	}
}

// TestAttentionDataInsideTensor serves a latent mixture with many sequences: each device attends to its own, and the
// engine's tensor group holds the data ranks.
func TestAttentionDataInsideTensor(t *testing.T) {
	nodes := []fleet.Node{plantest.Host("a", true, plantest.Times8(plantest.H200)...), plantest.Host("b", true, plantest.Times8(plantest.H200)...)}
	for _, e := range []v1alpha1.Engine{"SGLang", "TensorRT-LLM"} {
		r := ask(catalogued(t, "DeepSeek-R1"), 32768, 256, plantest.EngineOf(e))
		spec := mustPlan(t, fleet.NewCluster(nodes), r)
		checkPlan(t, nodes, r, spec)
		if s := spec.Strategy; s.Tensor != 1 || s.Data != 8 || s.Expert != 8 || s.Pipeline != 2 {
			t.Fatalf("%s: %s", e, s.Summary)
		}
		described, err := mesh.FromPlan("p", spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, g := range described.Groups {
			if g.Name != "dp" && g.Name != "ep" {
				continue
			}
			if diff := cmp.Diff([]v1alpha1.RankList{{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14, 15}}, g.Ranks); diff != "" {
				t.Errorf("%s: %s groups (-want +got):\n%s", e, g.Name, diff)
			}
		}
		for _, member := range described.Members {
			if len(member.Devices) != 8 {
				t.Errorf("%s: ranks from %d on are %d devices of %s: a stage is 8 of one node", e, member.FirstRank, len(member.Devices), member.Node)
			}
		}
	}
}

// TestExpertsOverDataRanks trains a mixture on eight data ranks that hold a part of the experts each.
func TestExpertsOverDataRanks(t *testing.T) {
	nodes := []fleet.Node{plantest.Host("a", true, plantest.Times8(plantest.H200)...), plantest.Host("b", true, plantest.Times8(plantest.H200)...)}
	for _, e := range []v1alpha1.Engine{"Megatron", "DeepSpeed"} {
		for expert, want := range map[int32]bool{8: true, 3: false, 0: true} {
			p := v1alpha1.Parallelism{Tensor: plantest.Ptr(int32(1)), Pipeline: plantest.Ptr(int32(1)), Data: plantest.Ptr(int32(16))}
			if expert > 0 {
				p.Expert = plantest.Ptr(expert)
			}
			r := ask(catalogued(t, "Mixtral-8x7B-v0.1"), 1, 1, plantest.EngineOf(e), plantest.Train(v1alpha1.TrainingWorkload{SequenceLength: 4096, GlobalBatch: 16, Sharding: "ZeRO1", ActivationCheckpointing: true}), plantest.Parallelism(p))
			spec, err := Plan(fleet.NewCluster(nodes), r)
			if (err == nil) != want {
				t.Errorf("%s, expert %d: %v", e, expert, err)
			}
			if err != nil {
				continue
			}
			checkPlan(t, nodes, r, spec)
			if spec.Strategy.Expert != 8 {
				t.Errorf("%s, expert %d: %s", e, expert, spec.Strategy.Summary)
			}
		}
	}
}
