package plan

import (
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/model"
	"github.com/rankwright/rankwright/pkg/plan/explain"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

func objective(o v1alpha1.Objective) func(*plantest.Spec) {
	return func(s *plantest.Spec) { s.Workload.Inference.Objective = o }
}

func named(t testing.TB, name string) *model.Model {
	t.Helper()
	m, err := model.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// explained plans a request and explains the plan.
func explained(t testing.TB, nodes []fleet.Node, r shape.Request) (*v1alpha1.ShardingPlanSpec, *explain.Explanation) {
	t.Helper()
	c := fleet.NewCluster(nodes)
	spec := mustPlan(t, c, r)
	e, err := explain.Explain(c, r, spec)
	if err != nil {
		t.Fatal(err)
	}
	return spec, e
}

// checkExplanation holds an explanation to the plan that it explains.
func checkExplanation(t failer, r shape.Request, spec *v1alpha1.ShardingPlanSpec, e *explain.Explanation) {
	t.Helper()
	checkSettings(t, spec, e)
	if len(e.Choice) < 3 {
		t.Errorf("the choice is explained by %q", e.Choice)
	}
	shapes := spec.Shapes()
	if len(e.Parts) != len(shapes) {
		t.Errorf("%d parts for %d shapes", len(e.Parts), len(shapes))
		return
	}
	for i := range shapes {
		checkPart(t, r, &shapes[i], &e.Parts[i])
	}
}

func checkSettings(t failer, spec *v1alpha1.ShardingPlanSpec, e *explain.Explanation) {
	t.Helper()
	var taken []explain.SettingOutcome
	for _, setting := range e.Settings {
		if setting.Taken {
			taken = append(taken, setting)
		}
		if setting.Outcome == "" {
			t.Errorf("no outcome of %+v", setting)
		}
	}
	if len(taken) != 1 || taken[0].Weights != spec.Quantization || taken[0].Cache != "" && taken[0].Cache != spec.KVCacheType {
		t.Errorf("taken precisions %+v, the plan has %s and %s", taken, spec.Quantization, spec.KVCacheType)
	}
	if l := spec.StepLimits; l != nil && len(taken) == 1 && (taken[0].Tokens != l.Tokens || taken[0].Sequences != l.Sequences) {
		t.Errorf("a step of %d tokens and %d sequences, the plan has %+v", taken[0].Tokens, taken[0].Sequences, *l)
	}
}

func checkPart(t failer, r shape.Request, planned *v1alpha1.PlanShape, p *explain.PartExplanation) {
	t.Helper()
	if len(p.Memory) != len(planned.Stages) || p.Copies != int(planned.Strategy.Replicas) || p.FirstReplica != int(planned.FirstReplica) {
		t.Errorf("%d stages and %d copies from %d on, want those of %+v", len(p.Memory), p.Copies, p.FirstReplica, planned)
		return
	}
	for i, s := range p.Memory {
		sum := int64(0)
		for _, l := range s.Lines {
			sum += l.Bytes
		}
		if want := planned.Stages[i].PerDevice.TotalBytes; sum != want || s.UsedBytes != want {
			t.Errorf("stage %d: lines add up to %d and the use is %d, want %d", i, sum, s.UsedBytes, want)
		}
		if s.LeftBytes < 0 || s.NeededBytes+s.LeftBytes != s.Offer[len(s.Offer)-1].Bytes {
			t.Errorf("stage %d: needed %d and left %d of %+v", i, s.NeededBytes, s.LeftBytes, s.Offer)
		}
		if in := r.Placement.Spec.Workload.Inference; in != nil && s.Sequences < int64(in.MaxSequences) {
			t.Errorf("stage %d has room for %d sequences, %d are asked for", i, s.Sequences, in.MaxSequences)
		}
	}
	for _, s := range p.Seats {
		if s.Devices != int(planned.Strategy.Tensor) || s.Free < s.Devices || s.Rivals < 1 || len(s.Nodes) == 0 {
			t.Errorf("seat %+v of tensor groups of %d", s, planned.Strategy.Tensor)
		}
	}
	degrees := map[string]int32{"tp": planned.Strategy.Tensor, "pp": planned.Strategy.Pipeline, "dp": planned.Strategy.Data}
	for _, l := range p.Links {
		if degrees[l.Name] != int32(l.Size) || l.Size < 2 || l.Link.Name == "" {
			t.Errorf("link %+v of degrees %v", l, degrees)
		}
	}
}

// TestExplain holds explanations of many kinds of plan to the plans, and their words to the rule that chose.
func TestExplain(t *testing.T) {
	h := []fleet.Node{plantest.Host("a", true, plantest.Times8(plantest.H100)...)}
	limit := func(ms int32) func(*plantest.Spec) {
		return func(s *plantest.Spec) { s.Workload.Inference.MaxTPOTMillis = &ms }
	}
	training := func(s *plantest.Spec) {
		s.Engine = v1alpha1.EngineTorch
		s.Workload = v1alpha1.Workload{Training: &v1alpha1.TrainingWorkload{Method: "LoRA", SequenceLength: 1024, GlobalBatch: 8, MicroBatch: 1}}
	}
	unknown := plantest.H100
	unknown.GBps = 0
	for name, test := range map[string]struct {
		nodes []fleet.Node
		r     shape.Request
		want  []string // in the choice
	}{
		"one device":     {h, ask(plantest.Llama(t, 8), 2048, 4), []string{"Throughput: output tokens a second from each device; 4 requests", "No other is within 3 %"}},
		"latency":        {h, ask(plantest.Llama(t, 70), 4096, 2, objective("Latency")), []string{"Latency: the time for an answer", "within 10 %"}},
		"latency, limit": {h, ask(plantest.Llama(t, 8), 2048, 1, objective("Latency"), limit(20)), []string{"Latency within limits", "The fewest devices are taken"}},
		"a limit":        {h, ask(plantest.Llama(t, 70), 4096, 8, limit(25), plantest.Format("FP8")), []string{"of them keep"}},
		"cost":           {append(h, plantest.Host("b", false, plantest.Many(4, plantest.L40s)...)), ask(plantest.Llama(t, 8), 2048, 4, objective("Cost")), []string{"Cost: the price"}},
		"pipeline":       {h, ask(plantest.Llama(t, 70), 4096, 4, plantest.Parallelism(v1alpha1.Parallelism{Pipeline: plantest.Ptr(int32(4))})), []string{"shapes fit in memory"}},
		"mixture":        {[]fleet.Node{plantest.Host("a", true, plantest.Times8(plantest.H200)...)}, ask(named(t, "DeepSeek-R1"), 8192, 64), []string{"EP8"}},
		"SGLang":         {h, ask(plantest.Llama(t, 70), 4096, 4, plantest.EngineOf(v1alpha1.EngineSGLang)), nil},
		"TensorRT-LLM":   {h, ask(plantest.Llama(t, 70), 4096, 4, plantest.EngineOf(v1alpha1.EngineTensorRTLLM)), nil},
		"lean":           {[]fleet.Node{plantest.Host("a", true, plantest.H100)}, ask(named(t, "GPT-OSS-120B"), 4096, 2), []string{"1 shape fits"}},
		"training":       {h, ask(plantest.Llama(t, 8), 1, 1, training), []string{"Training has no objective but to fit", "The fewest devices are taken"}},
		"unknown rates":  {[]fleet.Node{plantest.Host("a", true, unknown)}, ask(plantest.Llama(t, 8), 2048, 1), []string{"rates of the devices are not known"}},
		"mixed": {
			[]fleet.Node{plantest.Host("a", false, plantest.H100), plantest.Host("b", false, plantest.L40s)},
			ask(plantest.Llama(t, 70), 1024, 1, plantest.Format("FP8")),
			[]string{"a pipeline over several kinds is taken"},
		},
		"copies that differ": {
			[]fleet.Node{plantest.Host("a", true, plantest.Many(2, plantest.H100)...), plantest.Host("b", true, plantest.Many(2, plantest.L40s)...)},
			ask(plantest.Llama(t, 70), 1024, 1, plantest.Format("FP8"), plantest.Replicas(2)),
			[]string{"No shape has room for all copies"},
		},
	} {
		spec, e := explained(t, test.nodes, test.r)
		checkExplanation(t, test.r, spec, e)
		choice := strings.Join(e.Choice, " ")
		for _, want := range test.want {
			if !strings.Contains(choice, want) {
				t.Errorf("%s: %q is not in %q", name, want, choice)
			}
		}
	}
}

// TestExplainedTimesAreThePlans holds the arithmetic of one shape to the plan's estimate.
func TestExplainedTimesAreThePlans(t *testing.T) {
	h := []fleet.Node{plantest.Host("a", true, plantest.Times8(plantest.H100)...)}
	for name, r := range map[string]shape.Request{
		"tensor":   ask(plantest.Llama(t, 70), 4096, 8, plantest.Replicas(2)),
		"pipeline": ask(plantest.Llama(t, 70), 4096, 8, plantest.Parallelism(v1alpha1.Parallelism{Pipeline: plantest.Ptr(int32(2))})),
	} {
		spec, e := explained(t, h, r)
		times := e.Parts[0].Times
		want := spec.Estimate
		if got := shape.Rounded(times.Serving.OutputTokensPerSecond * float64(e.Parts[0].Copies)); got != want.TokensPerSecond.Value {
			t.Errorf("%s: %d tokens/s, the plan has %d", name, got, want.TokensPerSecond.Value)
		}
		if ttft, tpot := shape.Rounded(times.Serving.TTFT*1e3), shape.Rounded(times.Serving.TPOT*1e6); ttft != want.TTFTMillis.Value || tpot != want.TPOTMicros.Value {
			t.Errorf("%s: TTFT %d ms and TPOT %d us, the plan has %d and %d", name, ttft, tpot, want.TTFTMillis.Value, want.TPOTMicros.Value)
		}
		if low := shape.Rounded(times.Estimate.TTFT.Low * 1e3); low != want.TTFTMillis.Low || times.Basis > cost.Related {
			t.Errorf("%s: TTFT from %d ms on, by constants that are %s; the plan has %d", name, low, times.Basis, want.TTFTMillis.Low)
		}
	}
}

// TestConsideredIsRanked holds that the shape that is taken is listed once, before those that are worse, and that the
// measure is the one of the objective.
func TestConsideredIsRanked(t *testing.T) {
	spec, e := explained(t, []fleet.Node{plantest.Host("a", true, plantest.Times8(plantest.H100)...)}, ask(plantest.Llama(t, 70), 4096, 16, objective("Latency")))
	taken := slices.IndexFunc(e.Considered, func(c explain.Considered) bool { return c.Taken })
	if taken != 0 || e.Considered[0].Strategy != spec.Strategy.Summary || e.Considered[0].Verdict != "taken" {
		t.Fatalf("%+v, the plan is %s", e.Considered[0], spec.Strategy.Summary)
	}
	for i, c := range e.Considered {
		if want := c.TTFT + float64(e.Goal.Output-1)*c.TPOT; math.Abs(c.Value-want) > 1e-9 {
			t.Errorf("%s takes %v s for an answer, by its times %v", c.Strategy, c.Value, want)
		}
		if i > 0 && (c.Taken || c.Verdict == "") {
			t.Errorf("%+v", c)
		}
	}
}

// TestSettingsSayWhyNot holds the reasons for steps down the ladder.
func TestSettingsSayWhyNot(t *testing.T) {
	tight := ask(plantest.Llama(t, 70), 8192, 8, func(s *plantest.Spec) { s.Workload.Inference.MaxTPOTMillis = plantest.Ptr(int32(50)) })
	for name, test := range map[string]struct {
		nodes []fleet.Node
		r     shape.Request
		want  []string // the outcomes of the first settings
	}{
		"too large": {[]fleet.Node{plantest.Host("a", false, plantest.Many(2, plantest.L40s)...)}, ask(plantest.Llama(t, 70), 2048, 1), []string{
			"no shape fits: a copy in one stage needs", "no shape fits", "taken",
		}},
		"limit": {[]fleet.Node{plantest.Host("a", false, plantest.Many(4, plantest.L40s)...)}, tight, []string{
			"nearest is TP4 on NVIDIA L40S: TPOT", "nearest is TP4", "taken", "not needed",
		}},
		"lean": {[]fleet.Node{plantest.Host("a", true, plantest.H100)}, ask(named(t, "GPT-OSS-120B"), 4096, 2), []string{"the largest free device offers 71.1 GiB", "taken"}},
	} {
		_, e := explained(t, test.nodes, test.r)
		for i, want := range test.want {
			if i >= len(e.Settings) || !strings.Contains(e.Settings[i].Outcome, want) {
				t.Errorf("%s: setting %d is not %q: %+v", name, i, want, e.Settings)
			}
		}
	}
}

func TestExplainRefusesOtherPlans(t *testing.T) {
	nodes := []fleet.Node{plantest.Host("a", true, plantest.Times8(plantest.H100)...)}
	c, r := fleet.NewCluster(nodes), ask(plantest.Llama(t, 70), 4096, 8)
	for name, test := range map[string]struct {
		change func(*v1alpha1.ShardingPlanSpec)
		want   string
	}{
		"precision": {func(s *v1alpha1.ShardingPlanSpec) { s.Quantization = v1alpha1.FP32 }, "is not what the request asks for"},
		"device":    {func(s *v1alpha1.ShardingPlanSpec) { s.Nodes[0].Devices[0] = "nvidia-0000:ff:00.0" }, "devices that the cluster does not have"},
		"node":      {func(s *v1alpha1.ShardingPlanSpec) { s.Nodes[0].Node = "elsewhere" }, "devices that the cluster does not have"},
		"copies":    {func(s *v1alpha1.ShardingPlanSpec) { s.Strategy.Replicas = 3 }, "other copies"},
		"layers":    {func(s *v1alpha1.ShardingPlanSpec) { s.Stages[0].LastLayer = 3 }, "not all layers"},
		"bytes":     {func(s *v1alpha1.ShardingPlanSpec) { s.Stages[0].PerDevice.WeightsBytes++ }, "other amounts"},
		"stages":    {func(s *v1alpha1.ShardingPlanSpec) { s.Stages = nil }, "no stages"},
		"nothing":   {func(s *v1alpha1.ShardingPlanSpec) { s.Nodes = nil }, "devices that the cluster does not have"},
	} {
		spec := mustPlan(t, c, r)
		test.change(spec)
		if _, err := explain.Explain(c, r, spec); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	if _, err := explain.Explain(c, shape.Request{}, mustPlan(t, c, r)); err == nil {
		t.Error("a request without a placement is explained")
	}
}

// TestEveryPlanIsExplained holds that whatever is planned can be explained, alike whatever the order of listing, and that
// explaining changes nothing.
func TestEveryPlanIsExplained(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		nodes, r := drawNodes(rt), drawRequest(rt)
		c := fleet.NewCluster(nodes)
		spec, err := Plan(c, r)
		if err != nil {
			return
		}
		e, err := explain.Explain(c, r, spec)
		if err != nil {
			rt.Fatal(err)
		}
		checkExplanation(rt, r, spec, e)
		other, err := explain.Explain(fleet.NewCluster(plantest.Shuffled(rt, nodes)), r, spec)
		if err != nil {
			rt.Fatal(err)
		}
		if !reflect.DeepEqual(e, other) {
			rt.Errorf("another order of listing gives another explanation: %+v and %+v", e, other)
		}
		if again, err := Plan(c, r); err != nil || !reflect.DeepEqual(again, spec) {
			rt.Errorf("after explaining, the plan is another one: %v", err)
		}
	})
}

// TestPriceOfCopiesThatDiffer holds that the price of all tokens lies between those of the copies, by what each delivers.
func TestPriceOfCopiesThatDiffer(t *testing.T) {
	nodes := []fleet.Node{plantest.Host("a", true, plantest.Many(2, plantest.H100)...), plantest.Host("b", true, plantest.Many(2, plantest.L40s)...)}
	spec, e := explained(t, nodes, ask(plantest.Llama(t, 70), 1024, 1, plantest.Format("FP8"), plantest.Replicas(2)))
	sum, tokens := 0.0, 0.0
	for _, p := range e.Parts {
		sum += float64(p.Times.MicroUSDPerHour) / 3600 * 2
		tokens += p.Times.Serving.OutputTokensPerSecond
	}
	if want := sum / tokens * 1e6; len(e.Parts) != 2 || math.Abs(float64(spec.Estimate.MicroUSDPerMillionTokens)/want-1) > 0.02 {
		t.Errorf("%d micro-USD for a million tokens of %d shapes, want %.0f", spec.Estimate.MicroUSDPerMillionTokens, len(e.Parts), want)
	}
	if spec.Strategy.Summary != "TP2 + TP2" {
		t.Errorf("summary %q does not name all shapes", spec.Strategy.Summary)
	}
}

func BenchmarkExplain(b *testing.B) {
	c, r := fleet.NewCluster([]fleet.Node{plantest.Host("a", true, plantest.Times8(plantest.H100)...)}), ask(plantest.Llama(b, 70), 4096, 8)
	spec := mustPlan(b, c, r)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := explain.Explain(c, r, spec); err != nil {
			b.Fatal(err)
		}
	}
}
