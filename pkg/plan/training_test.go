package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/memory"
	"github.com/rankwright/rankwright/pkg/model"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

// drawTraining is a small job.
func drawTraining(t *rapid.T) v1alpha1.TrainingWorkload {
	return v1alpha1.TrainingWorkload{
		SequenceLength: rapid.SampledFrom([]int32{512, 1536, 4096, 16384}).Draw(t, "sequence"), GlobalBatch: rapid.SampledFrom([]int32{2, 4, 6, 12}).Draw(t, "batch"),
		MicroBatch: rapid.SampledFrom([]int32{0, 1, 2}).Draw(t, "micro"), Sharding: rapid.SampledFrom([]v1alpha1.TrainingSharding{"None", "ZeRO1", "ZeRO3"}).Draw(t, "sharding"),
		ActivationCheckpointing: rapid.Bool().Draw(t, "checkpointing"),
	}
}

// drawTrained is a model of a few hundred MiB a layer.
func drawTrained(t *rapid.T) *model.Model {
	a := v1alpha1.Architecture{
		Layers: rapid.Int32Range(1, 7).Draw(t, "layers"), HiddenSize: 2048, VocabSize: 32000, TiedEmbeddings: rapid.Bool().Draw(t, "tied"),
		Attention: v1alpha1.Attention{Heads: 16, KVHeads: 4, HeadDim: 128}, MLP: v1alpha1.MLP{IntermediateSize: 8192},
	}
	if rapid.Bool().Draw(t, "mixture") {
		a.MoE = &v1alpha1.MoE{Experts: 4, ActiveExperts: 1, IntermediateSize: 4096, FirstLayer: 1}
	}
	m, err := model.FromArchitecture("drawn", a)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// bruteTraining is the fewest devices that hold a job, by trying all degrees, all splits and all expert degrees against the
// checks of the engine; 0 where none does. Devices are alike and in one island. A tensor group comes before any pipeline,
// as in all plans for devices of unknown rates, and context ranks after everything else.
func bruteTraining(m *model.Model, e v1alpha1.Engine, w v1alpha1.TrainingWorkload, asked v1alpha1.Parallelism, devices int, d memory.Device) (fewest int, context bool) {
	may := func(asked *int32, degree int) bool { return asked == nil || int(*asked) == degree }
	offer := memory.Offer(e, true, 0, d)
	for _, context := range []bool{false, true} {
		for _, across := range []bool{false, true} {
			for n := 1; n <= devices; n++ {
				for _, l := range bruteLaunches(m, &w, n) {
					if may(asked.Tensor, l.tensor) && may(asked.Pipeline, l.pipeline) && (l.context > 1) == context && (l.pipeline > 1) == across && bruteHolds(m, e, l, d, offer) {
						return n, context
					}
				}
			}
		}
	}
	return 0, false
}

// bruteLaunches are all degrees of so many devices. Data ranks are chosen only where they share out states, context degrees
// are powers of two, and an expert degree is one of data and context ranks.
func bruteLaunches(m *model.Model, w *v1alpha1.TrainingWorkload, n int) []*launch {
	var all []*launch
	for tensor := 1; tensor <= n; tensor++ {
		for pipeline := 1; tensor*pipeline <= n; pipeline++ {
			for context := 1; tensor*pipeline*context <= n; context *= 2 {
				data := n / (tensor * pipeline * context)
				if tensor*pipeline*context*data != n || data > 1 && (w.Sharding == "" || w.Sharding == "None") {
					continue
				}
				for expert := 1; expert <= data*context; expert++ {
					if m.Architecture.MoE == nil && expert > 1 {
						break
					}
					all = append(all, &launch{
						arch: &m.Architecture, training: w, tensor: tensor, pipeline: pipeline, data: data, context: context, expert: expert, dcp: 1, block: 1,
					})
				}
			}
		}
	}
	return all
}

// bruteHolds tries all splits.
func bruteHolds(m *model.Model, e v1alpha1.Engine, l *launch, d memory.Device, offer int64) bool {
	f, err := memory.New(memory.Setup{
		Model: m, Engine: e, Weights: v1alpha1.BF16, Training: l.training,
		Layout: memory.Layout{Tensor: l.tensor, Pipeline: l.pipeline, Data: l.data, Context: l.context, Expert: l.expert},
	}, d)
	if err != nil || int(m.Architecture.MLP.IntermediateSize)%l.tensor != 0 {
		return false
	}
	if moe := m.Architecture.MoE; moe != nil && (int(moe.Experts)%l.expert != 0 || int(moe.IntermediateSize)%l.tensor != 0) {
		return false
	}
	holds := false
	plantest.Splits(l.layers(), l.pipeline, func(ends []int) {
		first := 0
		for _, end := range ends {
			if f.Need(first, end) > offer {
				return
			}
			first = end
		}
		l.split = slices.Clone(ends)
		for i := len(ends) - 1; i > 0; i-- {
			l.split[i] -= ends[i-1]
		}
		for _, rule := range rules[e] {
			if !rule.check(l) {
				return
			}
		}
		holds = true
	})
	return holds
}

// A training plan for devices of unknown rates takes the fewest devices that hold the job, and is found where there is any.
func TestTrainingAgreesWithBruteForce(t *testing.T) {
	answers := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		p := plantest.Product{Vendor: "nvidia", Name: "big", Family: v1alpha1.FamilyGPU, MiB: rapid.SampledFrom([]int64{2600, 3400, 4500, 6200, 8800}).Draw(rt, "memory")}
		nodes := []fleet.Node{plantest.Host("n", true, plantest.Many(rapid.IntRange(1, 8).Draw(rt, "devices"), p)...)}
		m, w := drawTrained(rt), drawTraining(rt)
		e := rapid.SampledFrom(training[:3]).Draw(rt, "engine")
		if m.Architecture.MoE != nil && e == v1alpha1.EngineTorch {
			e = v1alpha1.EngineMegatron // others choose no expert degree
		}
		r := ask(m, 1, 1, plantest.EngineOf(e), plantest.Train(w), plantest.Format("BF16"))
		var asked v1alpha1.Parallelism
		if rapid.IntRange(0, 2).Draw(rt, "one tensor rank") > 0 {
			asked.Tensor, r.Placement.Spec.Parallelism = plantest.Ptr(int32(1)), &asked
		}
		if rapid.Bool().Draw(rt, "one stage") {
			asked.Pipeline, r.Placement.Spec.Parallelism = plantest.Ptr(int32(1)), &asked
		}
		spec, err := Plan(fleet.NewCluster(nodes), r)
		var no *Unplaceable
		var bad *shape.InvalidRequest
		if errors.As(err, &bad) {
			return
		}
		if err != nil && !errors.As(err, &no) {
			rt.Fatal(err)
		}
		n, context := bruteTraining(m, e, w, asked, len(nodes[0].Inventory.Status.Devices), memory.Device{Vendor: "nvidia", Product: "big", TotalBytes: p.MiB << 20})
		switch {
		case n == 0 && err == nil:
			rt.Fatalf("%s: nothing holds it, the planner says %s", e, spec.Strategy.Summary)
		case n == 0:
			answers["none"]++
		case err != nil:
			rt.Fatalf("%s: %d devices hold it, the planner says %v", e, n, err)
		case int(spec.Totals.Devices) != n || (spec.Strategy.Context > 1) != context:
			rt.Fatalf("%s: %d devices hold it, with context %v, the planner takes %s", e, n, context, spec.Strategy.Summary)
		default:
			checkPlan(rt, nodes, r, spec)
			answers["placed"]++
			for name, degree := range map[string]int32{"data": spec.Strategy.Data, "context": spec.Strategy.Context, "stages": spec.Strategy.Pipeline, "expert": spec.Strategy.Expert} {
				if degree > 1 {
					answers[name]++
				}
			}
		}
	})
	t.Logf("answers: %v", answers)
	if answers["data"]+answers["context"] == 0 || answers["none"] == 0 {
		t.Errorf("the cases are one-sided: %v", answers)
	}
}

// TestDataRanksOfTraining holds the data degree that is chosen to what it must be, on devices of known rates.
func TestDataRanksOfTraining(t *testing.T) {
	nodes := []fleet.Node{plantest.Host("a", true, plantest.Times8(plantest.H100)...), plantest.Host("b", true, plantest.Times8(plantest.H100)...)}
	for _, test := range []struct {
		sharding v1alpha1.TrainingSharding
		batch    int32
		data     int32
	}{
		{"FSDP", 64, 2}, {"FSDP", 9, 3}, {"ZeRO3", 64, 2}, {"None", 64, 1},
	} {
		r := ask(plantest.Llama(t, 8), 1, 1, plantest.EngineOf("Torch"), plantest.Train(v1alpha1.TrainingWorkload{
			SequenceLength: 4096, GlobalBatch: test.batch, Sharding: test.sharding, ActivationCheckpointing: true,
		}), plantest.Parallelism(v1alpha1.Parallelism{Tensor: plantest.Ptr(int32(1)), Pipeline: plantest.Ptr(int32(1))}))
		spec, err := Plan(fleet.NewCluster(nodes), r)
		if test.data == 1 {
			var no *Unplaceable
			if !errors.As(err, &no) {
				t.Errorf("%s: %v", test.sharding, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		checkPlan(t, nodes, r, spec)
		want := fmt.Sprintf("%d data ranks, the fewest at these degrees with which %s holds the training states; they divide the %d micro-batches of a step", test.data, test.sharding, test.batch)
		if spec.Strategy.Data != test.data || len(spec.Model.Assumptions) == 0 || spec.Model.Assumptions[len(spec.Model.Assumptions)-1] != want {
			t.Errorf("%s, batch %d: %s, %q", test.sharding, test.batch, spec.Strategy.Summary, spec.Model.Assumptions)
		}
	}
}

// TestInterleavedStagesAreEqual: a plan whose stages have several runs of layers has stages of equal size, which its engine is told by the runs,
// with or without a number of stages that is asked for.
func TestInterleavedStagesAreEqual(t *testing.T) {
	nodes := []fleet.Node{plantest.Host("a", true, plantest.Times8(plantest.H100)...)}
	for _, asked := range []*int32{nil, plantest.Ptr(int32(4))} {
		r := ask(plantest.Llama(t, 8), 1, 1, plantest.EngineOf("Megatron"), plantest.Train(v1alpha1.TrainingWorkload{
			SequenceLength: 2048, GlobalBatch: 64, VirtualStages: 2, Recompute: "Selective",
		}), plantest.Parallelism(v1alpha1.Parallelism{Tensor: plantest.Ptr(int32(1)), Data: plantest.Ptr(int32(1)), Pipeline: asked}))
		spec, err := Plan(fleet.NewCluster(nodes), r)
		if err != nil {
			t.Fatal(err)
		}
		checkPlan(t, nodes, r, spec)
		if spec.Strategy.Pipeline < 2 || spec.Training.VirtualStages != 2 {
			t.Errorf("%s, %+v", spec.Strategy.Summary, spec.Training)
		}
		for _, s := range spec.Stages {
			if s.LastLayer-s.FirstLayer+1 != 32/spec.Strategy.Pipeline {
				t.Errorf("%s: stage of layers %d to %d", spec.Strategy.Summary, s.FirstLayer, s.LastLayer)
			}
		}
	}
}

// TestFP8TakesDevicesThatComputeInIt: a job in FP8 is planned on Hopper and not on Ampere.
func TestFP8TakesDevicesThatComputeInIt(t *testing.T) {
	r := ask(plantest.Llama(t, 8), 1, 1, plantest.EngineOf("Megatron"), plantest.Train(v1alpha1.TrainingWorkload{
		SequenceLength: 2048, GlobalBatch: 64, Sharding: "ZeRO1", Recompute: "Full", Compute: "FP8",
	}))
	ampere, hopper := plantest.Host("a", true, plantest.Times8(plantest.A100)...), plantest.Host("h", true, plantest.Times8(plantest.H100)...)
	spec, err := Plan(fleet.NewCluster([]fleet.Node{ampere, hopper}), r)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range spec.Nodes {
		if row.Node != "h" {
			t.Errorf("planned on %s", row.Node)
		}
	}
	var no *Unplaceable
	if _, err := Plan(fleet.NewCluster([]fleet.Node{ampere}), r); !errors.As(err, &no) || !strings.Contains(no.Message, "workload.training.compute") {
		t.Errorf("on Ampere: %v", err)
	}
}
