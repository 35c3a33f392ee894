package plan

import (
	"fmt"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/test/plantest"
)

// lengths says how long requests are in the mean.
func lengths(input, output int32) func(*plantest.Spec) {
	return func(s *plantest.Spec) {
		s.Workload.Inference.InputTokens, s.Workload.Inference.OutputTokens = &input, &output
	}
}

func varying(percent int32) func(*plantest.Spec) {
	return func(s *plantest.Spec) { s.Workload.Inference.LengthVariationPercent = &percent }
}

func fullLength(s *plantest.Spec) { s.Workload.Inference.Capacity = v1alpha1.CapacityFullLength }

// TestWhatTheCacheHolds: the cache holds requests as they run where both lengths are given and the engine preempts, and in full
// otherwise. What the engine is started with is the same.
func TestWhatTheCacheHolds(t *testing.T) {
	c := fleet.NewCluster([]fleet.Node{plantest.Host("n1", true, plantest.Times8(plantest.H100)...)})
	tp8 := plantest.Parallelism(v1alpha1.Parallelism{Tensor: new(int32(8)), Pipeline: new(int32(1))})
	// 80 layers of 4 KiB a token on all 8 ranks together: 512 B on each.
	const token = 80 * 512
	const full = 64 * 8192 * token
	for name, of := range map[string]struct {
		changes []func(*plantest.Spec)
		want    int64
	}{
		"no lengths":           {nil, full},
		"one length":           {[]func(*plantest.Spec){func(s *plantest.Spec) { s.Workload.Inference.InputTokens = new(int32(1000)) }}, full},
		"both lengths":         {[]func(*plantest.Spec){lengths(1000, 500)}, 64*1508*token + 13160*(1119*token)/1000},
		"lengths that differ":  {[]func(*plantest.Spec){lengths(1000, 500), varying(50)}, 64*1321*token + 13160*(556*token)/1000},
		"all alike":            {[]func(*plantest.Spec){lengths(1000, 500), varying(0)}, 64 * 1504 * token},
		"as long as can be":    {[]func(*plantest.Spec){lengths(7000, 1192)}, full},
		"held in full":         {[]func(*plantest.Spec){lengths(1000, 500), fullLength}, full},
		"an engine that waits": {[]func(*plantest.Spec){lengths(1000, 500), plantest.EngineOf(v1alpha1.EngineTensorRTLLM)}, full},
		"SGLang":               {[]func(*plantest.Spec){lengths(1000, 500), plantest.EngineOf(v1alpha1.EngineSGLang)}, 64*1500*token + 13160*(1119*token)/1000},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Plan(c, ask(plantest.Llama(t, 70), 8192, 64, append(of.changes, tp8, plantest.Format("BF16"))...))
			if err != nil {
				t.Fatal(err)
			}
			if got := p.Stages[0].PerDevice.KVCacheBytes; got != of.want {
				t.Errorf("the cache is %d B, want %d", got, of.want)
			}
			if p.StepLimits.Length != 8192 || p.StepLimits.Sequences < 64 {
				t.Errorf("the engine is started with %+v", p.StepLimits)
			}
		})
	}
}

// TestPreemptionIsPricedAndSaid: of copies in one shape, those whose cache is just enough are slower than those that hold all in
// full, and the plan says so; more requests than that are refused in this shape.
func TestPreemptionIsPricedAndSaid(t *testing.T) {
	c := fleet.NewCluster([]fleet.Node{plantest.Host("n1", true, plantest.Times8(plantest.H100)...)})
	tp4 := plantest.Parallelism(v1alpha1.Parallelism{Tensor: new(int32(4)), Pipeline: new(int32(1))})
	planned := func(sequences int32, changes ...func(*plantest.Spec)) (*v1alpha1.ShardingPlanSpec, error) {
		return Plan(c, ask(plantest.Llama(t, 70), 8192, sequences, append(changes, tp4, plantest.Format("BF16"), lengths(1000, 500))...))
	}
	most := int32(0)
	for n := int32(200); n < 400; n++ {
		if _, err := planned(n); err == nil {
			most = n
		}
	}
	tight, err := planned(most)
	if err != nil {
		t.Fatal(err)
	}
	line := tight.Model.Assumptions[len(tight.Model.Assumptions)-1]
	want := fmt.Sprintf("the KV cache of a copy holds %d requests as they run, of 1500 tokens in the mean, and not all of them at 8192: set capacity to FullLength for that; about ", most)
	if !strings.HasPrefix(line, want) || !strings.HasSuffix(line, " % of requests are preempted and computed again") {
		t.Errorf("it is said: %s", line)
	}
	if _, err := planned(most, fullLength); err == nil {
		t.Errorf("%d sequences fit at full length", most)
	}
	roomy, err := planned(most, func(s *plantest.Spec) { s.Workload.Inference.MaxModelLen = 1500 })
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(roomy.Model.Assumptions, "\n"); strings.Contains(text, "preempted") {
		t.Errorf("all are held at full length, and it is said: %s", text)
	}
	if tight.Estimate.TPOTMicros.Value <= roomy.Estimate.TPOTMicros.Value || tight.Estimate.TTFTMillis.Value <= roomy.Estimate.TTFTMillis.Value ||
		tight.Estimate.TokensPerSecond.Value >= roomy.Estimate.TokensPerSecond.Value {
		t.Errorf("with preemption %+v, without %+v", tight.Estimate, roomy.Estimate)
	}
	few, err := planned(40)
	if err != nil {
		t.Fatal(err)
	}
	if text := strings.Join(few.Model.Assumptions, "\n"); strings.Contains(text, "capacity") {
		t.Errorf("the devices have room for 40 sequences at full length, and it is said: %s", text)
	}
}

// TestCopiesThatKeepLimitsTogether: what one copy cannot serve within its limits, copies that share the load can, and the planner
// finds their number.
func TestCopiesThatKeepLimitsTogether(t *testing.T) {
	var nodes []fleet.Node
	for i := range 4 {
		nodes = append(nodes, plantest.Host(fmt.Sprint("n", i), true, plantest.Times8(plantest.H200)...))
	}
	c := fleet.NewCluster(nodes)
	limits := func(s *plantest.Spec) {
		in := s.Workload.Inference
		in.MaxTTFTMillis, in.MaxTPOTMillis = new(int32(320)), new(int32(11))
	}
	for _, changes := range [][]func(*plantest.Spec){
		{lengths(1000, 500)}, {lengths(1000, 500), fullLength}, {lengths(1000, 500), plantest.Format("FP8")},
	} {
		request := ask(plantest.Llama(t, 70), 8192, 0, append(changes, limits, plantest.Together(64))...)
		p, err := Plan(c, request)
		if err != nil {
			t.Fatal(err)
		}
		if p.Estimate.TTFTMillis.Value > 320 || p.Estimate.TPOTMicros.Value > 11000 {
			t.Errorf("TTFT %d ms, TPOT %d µs", p.Estimate.TTFTMillis.Value, p.Estimate.TPOTMicros.Value)
		}
		if copies := p.Copies(); copies < 2 || copies > 4 {
			t.Errorf("%d copies", copies)
		}
		plantest.Replicas(1)(&request.Placement.Spec)
		if alone, err := Plan(c, request); err == nil {
			t.Errorf("one copy keeps the limits too: %s", alone.Strategy.Summary)
		}
	}
}
