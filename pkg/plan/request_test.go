package plan

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/model"
	"github.com/rankwright/rankwright/pkg/shape"
	"github.com/rankwright/rankwright/test/plantest"
)

func mixture(t testing.TB) *model.Model {
	t.Helper()
	m, err := model.FromArchitecture("Mixtral-8x7B", v1alpha1.Architecture{
		Layers: 32, HiddenSize: 4096, VocabSize: 32000, MaxContext: 32768, Attention: v1alpha1.Attention{Heads: 32, KVHeads: 8, HeadDim: 128},
		MoE: &v1alpha1.MoE{Experts: 8, ActiveExperts: 2, IntermediateSize: 14336},
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestInvalidRequests(t *testing.T) {
	nodes := []fleet.Node{plantest.Host("a", true, plantest.Times8(plantest.H100)...)}
	for name, test := range map[string]struct {
		model  *model.Model
		change func(*plantest.Spec)
		field  string
		want   string
	}{
		"tensor does not divide": {plantest.Llama(t, 8), plantest.Parallelism(v1alpha1.Parallelism{Tensor: plantest.Ptr(int32(3))}), "parallelism.tensor", "32 query heads"},
		"tensor of zero":         {plantest.Llama(t, 8), plantest.Parallelism(v1alpha1.Parallelism{Tensor: plantest.Ptr(int32(0))}), "parallelism.tensor", "from 1 to 1024"},
		"too many stages":        {plantest.Llama(t, 8), plantest.Parallelism(v1alpha1.Parallelism{Pipeline: plantest.Ptr(int32(33))}), "parallelism.pipeline", "32 layers"},
		"variation of too much":  {plantest.Llama(t, 8), varying(401), "workload.inference.lengthVariationPercent", "from 0 to 400"},
		"unknown capacity":       {plantest.Llama(t, 8), func(s *plantest.Spec) { s.Workload.Inference.Capacity = "Half" }, "workload.inference.capacity", "FullLength"},
		"negative data":          {plantest.Llama(t, 8), plantest.Parallelism(v1alpha1.Parallelism{Data: plantest.Ptr(int32(-1))}), "parallelism.data", "from 1 to"},
		"experts of none":        {plantest.Llama(t, 8), plantest.Parallelism(v1alpha1.Parallelism{Expert: plantest.Ptr(int32(8))}), "parallelism.expert", "has no experts"},
		"experts do not divide":  {mixture(t), plantest.Parallelism(v1alpha1.Parallelism{Expert: plantest.Ptr(int32(3))}), "parallelism.expert", "divide the 8 experts"},
		"experts off the ranks":  {mixture(t), plantest.Parallelism(v1alpha1.Parallelism{Expert: plantest.Ptr(int32(8)), Tensor: plantest.Ptr(int32(2))}), "parallelism.expert", "tensor 2, data 1 and context 1"},
		"no context parallelism": {plantest.Llama(t, 8), both(plantest.EngineOf("SGLang"), plantest.Parallelism(v1alpha1.Parallelism{Context: plantest.Ptr(int32(2))})), "parallelism.context", "SGLang has no context parallelism"},
		"context off the sequence": {
			plantest.Llama(t, 8), both(plantest.EngineOf("Megatron"), plantest.Train(v1alpha1.TrainingWorkload{SequenceLength: 4096, GlobalBatch: 4}), plantest.Parallelism(v1alpha1.Parallelism{Context: plantest.Ptr(int32(3))})),
			"parallelism.context", "sequenceLength 4096 is no multiple of 6",
		},
		"context beside tensor": {
			plantest.Llama(t, 8), both(plantest.EngineOf("Torch"), plantest.Train(v1alpha1.TrainingWorkload{SequenceLength: 8, GlobalBatch: 4}), plantest.Parallelism(v1alpha1.Parallelism{Context: plantest.Ptr(int32(2)), Tensor: plantest.Ptr(int32(4))})),
			"parallelism.context", "sequenceLength 8 is no multiple of 16",
		},
		"context and tensor of DeepSpeed": {
			plantest.Llama(t, 8), both(plantest.EngineOf("DeepSpeed"), plantest.Train(v1alpha1.TrainingWorkload{SequenceLength: 4096, GlobalBatch: 4}), plantest.Parallelism(v1alpha1.Parallelism{Context: plantest.Ptr(int32(2)), Tensor: plantest.Ptr(int32(2))})),
			"parallelism.context", "tensor 1 and pipeline 1 alone, not at 2 and 1",
		},
		"context and heads of DeepSpeed": {
			plantest.Llama(t, 8), both(plantest.EngineOf("DeepSpeed"), plantest.Train(v1alpha1.TrainingWorkload{SequenceLength: 4095, GlobalBatch: 4}), plantest.Parallelism(v1alpha1.Parallelism{Context: plantest.Ptr(int32(3))})),
			"parallelism.context", "a divisor of the 32 heads",
		},
		"stages of ZeRO 3": {
			plantest.Llama(t, 8), both(plantest.EngineOf("DeepSpeed"), plantest.Train(v1alpha1.TrainingWorkload{SequenceLength: 4096, GlobalBatch: 4, Sharding: "ZeRO3"}), plantest.Parallelism(v1alpha1.Parallelism{Pipeline: plantest.Ptr(int32(2))})),
			"parallelism.pipeline", "use ZeRO1",
		},
		"uneven stages": {
			plantest.Llama(t, 8), both(plantest.EngineOf("JAX"), plantest.Train(v1alpha1.TrainingWorkload{SequenceLength: 4096, GlobalBatch: 12}), plantest.Parallelism(v1alpha1.Parallelism{Pipeline: plantest.Ptr(int32(3))})),
			"parallelism.pipeline", "3 stages do not divide 32",
		},
		"stages without micro-batches": {
			plantest.Llama(t, 8), both(plantest.EngineOf("Torch"), plantest.Train(v1alpha1.TrainingWorkload{SequenceLength: 4096, GlobalBatch: 2}), plantest.Parallelism(v1alpha1.Parallelism{Pipeline: plantest.Ptr(int32(4))})),
			"parallelism.pipeline", "4 stages with 2 micro-batches",
		},
		"data beside tensor": {
			mixture(t), both(plantest.EngineOf("TensorRT-LLM"), plantest.Parallelism(v1alpha1.Parallelism{Data: plantest.Ptr(int32(2)), Tensor: plantest.Ptr(int32(2))})),
			"parallelism.data", "set tensor to 1",
		},
		"no copies": {plantest.Llama(t, 8), plantest.Replicas(0), "replicas", "nothing to plan"},
		"engine":    {plantest.Llama(t, 8), func(s *plantest.Spec) { s.Engine = "abacus" }, "engine", "use one of vLLM"},
		"format":    {plantest.Llama(t, 8), plantest.Format("FP4"), "quantization", "use Auto"},
		"family": {plantest.Llama(t, 8), func(s *plantest.Spec) {
			s.Devices = &v1alpha1.DeviceRequirements{Families: []v1alpha1.DeviceFamily{v1alpha1.FamilyGPU, v1alpha1.FamilyCPU}}
		}, "devices.families[1]", "use GPU"},
		"no workload":          {plantest.Llama(t, 8), func(s *plantest.Spec) { s.Workload = v1alpha1.Workload{} }, "workload", "exactly one"},
		"no context":           {plantest.Llama(t, 8), func(s *plantest.Spec) { s.Workload.Inference.MaxModelLen = 0 }, "workload.inference.maxModelLen", "at least 1"},
		"negative sequences":   {plantest.Llama(t, 8), func(s *plantest.Spec) { s.Workload.Inference.MaxSequences = -1 }, "workload.inference.maxSequences", "at least 1"},
		"no batch":             {plantest.Llama(t, 8), plantest.Train(v1alpha1.TrainingWorkload{SequenceLength: 1}), "workload.training", "globalBatch"},
		"odd batch":            {plantest.Llama(t, 8), plantest.Train(v1alpha1.TrainingWorkload{SequenceLength: 1, GlobalBatch: 7, MicroBatch: 2}), "workload.training.globalBatch", "multiple of"},
		"too long a context":   {plantest.Llama(t, 8), func(s *plantest.Spec) { s.Workload.Inference.MaxModelLen = 1 << 30 }, "workload.inference.maxModelLen", "use 1 to 16777216"},
		"too many sequences":   {plantest.Llama(t, 8), func(s *plantest.Spec) { s.Workload.Inference.MaxSequences = math.MaxInt32 }, "workload.inference.sequences", "use 1 to 1048576"},
		"unknown cache format": {plantest.Llama(t, 8), func(s *plantest.Spec) { s.KVCacheType = "FP12" }, "kvCacheType", "vLLM has no KV cache in FP12: use one of [BF16 FP16 FP8]"},
		"unknown method":       {plantest.Llama(t, 8), plantest.Train(v1alpha1.TrainingWorkload{Method: "Osmosis", SequenceLength: 1, GlobalBatch: 1}), "workload.training.method", "use Full, LoRA"},
		"recompute twice":      {plantest.Llama(t, 8), plantest.Train(v1alpha1.TrainingWorkload{SequenceLength: 1, GlobalBatch: 1, Recompute: "None", ActivationCheckpointing: true}), "workload.training.recompute", "leave one of them out"},
		"tokens of DeepSpeed":  {plantest.Llama(t, 8), both(plantest.EngineOf("DeepSpeed"), plantest.Train(v1alpha1.TrainingWorkload{SequenceLength: 1, GlobalBatch: 1, SequenceParallel: true})), "workload.training.sequenceParallel", "use Megatron or Torch"},
		"FP8 of DeepSpeed":     {plantest.Llama(t, 8), both(plantest.EngineOf("DeepSpeed"), plantest.Train(v1alpha1.TrainingWorkload{SequenceLength: 1, GlobalBatch: 1, Compute: "FP8"})), "workload.training.compute", "use Megatron or Torch"},
		"runs of JAX":          {plantest.Llama(t, 8), both(plantest.EngineOf("JAX"), plantest.Train(v1alpha1.TrainingWorkload{SequenceLength: 1, GlobalBatch: 1, VirtualStages: 2})), "workload.training.virtualStages", "use Megatron or Torch"},
		"runs of no pipeline": {
			plantest.Llama(t, 8), both(plantest.EngineOf("Megatron"), plantest.Train(v1alpha1.TrainingWorkload{SequenceLength: 1, GlobalBatch: 1, VirtualStages: 2}), plantest.Parallelism(v1alpha1.Parallelism{Pipeline: plantest.Ptr(int32(1))})),
			"parallelism.pipeline", "use at least 2 stages",
		},
		"tokens off the ranks": {
			plantest.Llama(t, 8), both(plantest.EngineOf("Megatron"), plantest.Train(v1alpha1.TrainingWorkload{SequenceLength: 4098, GlobalBatch: 1, SequenceParallel: true}), plantest.Parallelism(v1alpha1.Parallelism{Tensor: plantest.Ptr(int32(4))})),
			"parallelism.tensor", "sequenceLength 4098 is no multiple of the 4 ranks",
		},
		"too long a sequence": {plantest.Llama(t, 8), plantest.Train(v1alpha1.TrainingWorkload{SequenceLength: math.MaxInt32, GlobalBatch: 1}), "workload.training.sequenceLength", "use 1 to 16777216"},
		"selector": {plantest.Llama(t, 8), func(s *plantest.Spec) {
			s.Devices = &v1alpha1.DeviceRequirements{NodeLabelSelector: &v1alpha1.LabelSelector{MatchExpressions: []v1alpha1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}}}}
		}, "devices.nodeLabelSelector", "correct the selector"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Plan(fleet.NewCluster(nodes), ask(test.model, 4096, 1, test.change))
			var bad *shape.InvalidRequest
			if !errors.As(err, &bad) {
				t.Fatalf("got %v", err)
			}
			if bad.Field != test.field || !strings.Contains(bad.Message, test.want) || !strings.HasPrefix(bad.Message, test.field+" is ") {
				t.Errorf("got %s: %s", bad.Field, bad.Message)
			}
		})
	}
	if _, err := Plan(fleet.NewCluster(nodes), shape.Request{}); err == nil {
		t.Error("a request without a model was planned")
	}
}

func TestAskedDegreesAreKept(t *testing.T) {
	nodes := []fleet.Node{plantest.Host("a", true, plantest.Times8(plantest.H100)...), plantest.Host("b", false, plantest.Times8(plantest.L40s)...), plantest.Host("c", true, plantest.Times8(plantest.H100)...)}
	for name, test := range map[string]struct {
		model   *model.Model
		degrees v1alpha1.Parallelism
		changes []func(*plantest.Spec)
		summary string
		kind    v1alpha1.StrategyName
	}{
		"tensor": {plantest.Llama(t, 8), v1alpha1.Parallelism{Tensor: plantest.Ptr(int32(8))}, nil, "TP8", v1alpha1.StrategyTensorParallel},
		"tensor on PCIe beyond 4": {plantest.Llama(t, 8), v1alpha1.Parallelism{Tensor: plantest.Ptr(int32(8))}, []func(*plantest.Spec){func(s *plantest.Spec) {
			s.Devices = &v1alpha1.DeviceRequirements{Products: []string{plantest.L40s.Name}}
		}}, "TP8", v1alpha1.StrategyTensorParallel},
		"pipeline":                    {plantest.Llama(t, 8), v1alpha1.Parallelism{Pipeline: plantest.Ptr(int32(2)), Tensor: plantest.Ptr(int32(1))}, nil, "PP2", v1alpha1.StrategyPipelineParallel},
		"both":                        {plantest.Llama(t, 8), v1alpha1.Parallelism{Pipeline: plantest.Ptr(int32(2)), Tensor: plantest.Ptr(int32(4))}, nil, "TP4 PP2", v1alpha1.StrategyHybrid},
		"data of a dense model":       {plantest.Llama(t, 8), v1alpha1.Parallelism{Data: plantest.Ptr(int32(2))}, []func(*plantest.Spec){plantest.Replicas(2)}, "None x4", v1alpha1.StrategyDataParallel},
		"data of a mixture":           {mixture(t), v1alpha1.Parallelism{Data: plantest.Ptr(int32(2)), Tensor: plantest.Ptr(int32(2)), Expert: plantest.Ptr(int32(4))}, nil, "TP2 DP2 EP4", v1alpha1.StrategyHybrid},
		"data of a mixture, replicas": {mixture(t), v1alpha1.Parallelism{Data: plantest.Ptr(int32(2)), Tensor: plantest.Ptr(int32(2))}, []func(*plantest.Spec){plantest.Replicas(3)}, "TP2 DP2 EP4 x3", v1alpha1.StrategyHybrid},
	} {
		t.Run(name, func(t *testing.T) {
			r := ask(test.model, 4096, 1, append(test.changes, plantest.Parallelism(test.degrees))...)
			spec := mustPlan(t, fleet.NewCluster(nodes), r)
			checkPlan(t, nodes, r, spec)
			if spec.Strategy.Summary != test.summary || spec.Strategy.Name != test.kind {
				t.Errorf("got %s (%s)", spec.Strategy.Summary, spec.Strategy.Name)
			}
		})
	}
	r := ask(plantest.Llama(t, 8), 4096, 1, plantest.Parallelism(v1alpha1.Parallelism{Tensor: plantest.Ptr(int32(16))}))
	_, err := Plan(fleet.NewCluster(nodes), r)
	if no := (*Unplaceable)(nil); !errors.As(err, &no) || !strings.Contains(no.Message, "It would fit with parallelism.tensor 1 instead of 16") {
		t.Errorf("tensor 16 over nodes: got %v", err)
	}
}
