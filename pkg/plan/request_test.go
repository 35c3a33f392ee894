package plan

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/model"
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
	nodes := []fleet.Node{host("a", true, times8(h100)...)}
	for name, test := range map[string]struct {
		model  *model.Model
		change func(*specOf)
		field  string
		want   string
	}{
		"tensor does not divide": {llama(t, 8), parallelism(v1alpha1.Parallelism{Tensor: ptr(int32(3))}), "parallelism.tensor", "32 query heads"},
		"tensor of zero":         {llama(t, 8), parallelism(v1alpha1.Parallelism{Tensor: ptr(int32(0))}), "parallelism.tensor", "from 1 to 1024"},
		"too many stages":        {llama(t, 8), parallelism(v1alpha1.Parallelism{Pipeline: ptr(int32(33))}), "parallelism.pipeline", "32 layers"},
		"negative data":          {llama(t, 8), parallelism(v1alpha1.Parallelism{Data: ptr(int32(-1))}), "parallelism.data", "from 1 to"},
		"experts of none":        {llama(t, 8), parallelism(v1alpha1.Parallelism{Expert: ptr(int32(8))}), "parallelism.expert", "has no experts"},
		"experts do not divide":  {mixture(t), parallelism(v1alpha1.Parallelism{Expert: ptr(int32(3))}), "parallelism.expert", "divide the 8 experts"},
		"experts off the ranks":  {mixture(t), parallelism(v1alpha1.Parallelism{Expert: ptr(int32(8)), Tensor: ptr(int32(2))}), "parallelism.expert", "tensor 2, data 1 and context 1"},
		"no context parallelism": {llama(t, 8), both(engineOf("SGLang"), parallelism(v1alpha1.Parallelism{Context: ptr(int32(2))})), "parallelism.context", "SGLang has no context parallelism"},
		"context off the sequence": {
			llama(t, 8), both(engineOf("Megatron"), train(v1alpha1.TrainingWorkload{SequenceLength: 4096, GlobalBatch: 4}), parallelism(v1alpha1.Parallelism{Context: ptr(int32(3))})),
			"parallelism.context", "sequenceLength 4096 is no multiple of 6",
		},
		"context beside tensor": {
			llama(t, 8), both(engineOf("Torch"), train(v1alpha1.TrainingWorkload{SequenceLength: 8, GlobalBatch: 4}), parallelism(v1alpha1.Parallelism{Context: ptr(int32(2)), Tensor: ptr(int32(4))})),
			"parallelism.context", "sequenceLength 8 is no multiple of 16",
		},
		"context and tensor of DeepSpeed": {
			llama(t, 8), both(engineOf("DeepSpeed"), train(v1alpha1.TrainingWorkload{SequenceLength: 4096, GlobalBatch: 4}), parallelism(v1alpha1.Parallelism{Context: ptr(int32(2)), Tensor: ptr(int32(2))})),
			"parallelism.context", "tensor 1 and pipeline 1 alone, not at 2 and 1",
		},
		"context and heads of DeepSpeed": {
			llama(t, 8), both(engineOf("DeepSpeed"), train(v1alpha1.TrainingWorkload{SequenceLength: 4095, GlobalBatch: 4}), parallelism(v1alpha1.Parallelism{Context: ptr(int32(3))})),
			"parallelism.context", "a divisor of the 32 heads",
		},
		"stages of ZeRO 3": {
			llama(t, 8), both(engineOf("DeepSpeed"), train(v1alpha1.TrainingWorkload{SequenceLength: 4096, GlobalBatch: 4, Sharding: "ZeRO3"}), parallelism(v1alpha1.Parallelism{Pipeline: ptr(int32(2))})),
			"parallelism.pipeline", "use ZeRO1",
		},
		"uneven stages": {
			llama(t, 8), both(engineOf("JAX"), train(v1alpha1.TrainingWorkload{SequenceLength: 4096, GlobalBatch: 12}), parallelism(v1alpha1.Parallelism{Pipeline: ptr(int32(3))})),
			"parallelism.pipeline", "3 stages do not divide 32",
		},
		"stages without micro-batches": {
			llama(t, 8), both(engineOf("Torch"), train(v1alpha1.TrainingWorkload{SequenceLength: 4096, GlobalBatch: 2}), parallelism(v1alpha1.Parallelism{Pipeline: ptr(int32(4))})),
			"parallelism.pipeline", "4 stages with 2 micro-batches",
		},
		"data beside tensor": {
			mixture(t), both(engineOf("TensorRT-LLM"), parallelism(v1alpha1.Parallelism{Data: ptr(int32(2)), Tensor: ptr(int32(2))})),
			"parallelism.data", "set tensor to 1",
		},
		"no copies":            {llama(t, 8), replicas(0), "replicas", "nothing to plan"},
		"engine":               {llama(t, 8), func(s *specOf) { s.Engine = "abacus" }, "engine", "use vLLM"},
		"format":               {llama(t, 8), format("FP4"), "quantization", "use Auto"},
		"family":               {llama(t, 8), func(s *specOf) { s.Devices = &v1alpha1.DeviceRequirements{Requirement: "CPU"} }, "devices.requirement", "use Any"},
		"no workload":          {llama(t, 8), func(s *specOf) { s.Workload = v1alpha1.Workload{} }, "workload", "exactly one"},
		"no context":           {llama(t, 8), func(s *specOf) { s.Workload.Inference.MaxModelLen = 0 }, "workload.inference.maxModelLen", "at least 1"},
		"negative sequences":   {llama(t, 8), func(s *specOf) { s.Workload.Inference.MaxSequences = -1 }, "workload.inference.maxSequences", "at least 1"},
		"no batch":             {llama(t, 8), train(v1alpha1.TrainingWorkload{SequenceLength: 1}), "workload.training", "globalBatch"},
		"odd batch":            {llama(t, 8), train(v1alpha1.TrainingWorkload{SequenceLength: 1, GlobalBatch: 7, MicroBatch: 2}), "workload.training.globalBatch", "multiple of"},
		"too long a context":   {llama(t, 8), func(s *specOf) { s.Workload.Inference.MaxModelLen = 1 << 30 }, "workload.inference.maxModelLen", "use 1 to 16777216"},
		"too many sequences":   {llama(t, 8), func(s *specOf) { s.Workload.Inference.MaxSequences = math.MaxInt32 }, "workload.inference.sequences", "use 1 to 1048576"},
		"unknown cache format": {llama(t, 8), func(s *specOf) { s.KVCacheType = "FP12" }, "kv", "not a stored precision"},
		"unknown method":       {llama(t, 8), train(v1alpha1.TrainingWorkload{Method: "Osmosis", SequenceLength: 1, GlobalBatch: 1}), "workload.training.method", "use Full, LoRA"},
		"too long a sequence":  {llama(t, 8), train(v1alpha1.TrainingWorkload{SequenceLength: math.MaxInt32, GlobalBatch: 1}), "workload.training.sequenceLength", "use 1 to 16777216"},
		"selector": {llama(t, 8), func(s *specOf) {
			s.Devices = &v1alpha1.DeviceRequirements{NodeSelector: &v1alpha1.NodeSelector{MatchExpressions: []v1alpha1.NodeSelectorRequirement{{Key: "a", Operator: "Near"}}}}
		}, "devices.nodeSelector", "correct the selector"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Plan(fleet.NewCluster(nodes), ask(test.model, 4096, 1, test.change))
			var bad *InvalidRequest
			if !errors.As(err, &bad) {
				t.Fatalf("got %v", err)
			}
			if bad.Field != test.field || !strings.Contains(bad.Message, test.want) || !strings.HasPrefix(bad.Message, test.field+" is ") {
				t.Errorf("got %s: %s", bad.Field, bad.Message)
			}
		})
	}
	if _, err := Plan(fleet.NewCluster(nodes), Request{}); err == nil {
		t.Error("a request without a model was planned")
	}
}

func TestAskedDegreesAreKept(t *testing.T) {
	nodes := []fleet.Node{host("a", true, times8(h100)...), host("b", false, times8(l40s)...), host("c", true, times8(h100)...)}
	for name, test := range map[string]struct {
		model   *model.Model
		degrees v1alpha1.Parallelism
		changes []func(*specOf)
		summary string
		kind    v1alpha1.StrategyName
	}{
		"tensor":                      {llama(t, 8), v1alpha1.Parallelism{Tensor: ptr(int32(8))}, nil, "TP8", v1alpha1.StrategyTensorParallel},
		"tensor on PCIe beyond 4":     {llama(t, 8), v1alpha1.Parallelism{Tensor: ptr(int32(8))}, []func(*specOf){func(s *specOf) { s.Devices = &v1alpha1.DeviceRequirements{Products: []string{l40s.name}} }}, "TP8", v1alpha1.StrategyTensorParallel},
		"pipeline":                    {llama(t, 8), v1alpha1.Parallelism{Pipeline: ptr(int32(2)), Tensor: ptr(int32(1))}, nil, "PP2", v1alpha1.StrategyPipelineParallel},
		"both":                        {llama(t, 8), v1alpha1.Parallelism{Pipeline: ptr(int32(2)), Tensor: ptr(int32(4))}, nil, "TP4 PP2", v1alpha1.StrategyHybrid},
		"data of a dense model":       {llama(t, 8), v1alpha1.Parallelism{Data: ptr(int32(2))}, []func(*specOf){replicas(2)}, "None x4", v1alpha1.StrategyDataParallel},
		"data of a mixture":           {mixture(t), v1alpha1.Parallelism{Data: ptr(int32(2)), Tensor: ptr(int32(2)), Expert: ptr(int32(4))}, nil, "TP2 DP2 EP4", v1alpha1.StrategyHybrid},
		"data of a mixture, replicas": {mixture(t), v1alpha1.Parallelism{Data: ptr(int32(2)), Tensor: ptr(int32(2))}, []func(*specOf){replicas(3)}, "TP2 DP2 EP4 x3", v1alpha1.StrategyHybrid},
	} {
		t.Run(name, func(t *testing.T) {
			r := ask(test.model, 4096, 1, append(test.changes, parallelism(test.degrees))...)
			spec := mustPlan(t, fleet.NewCluster(nodes), r)
			checkPlan(t, nodes, r, spec)
			if spec.Strategy.Summary != test.summary || spec.Strategy.Name != test.kind {
				t.Errorf("got %s (%s)", spec.Strategy.Summary, spec.Strategy.Name)
			}
		})
	}
	r := ask(llama(t, 8), 4096, 1, parallelism(v1alpha1.Parallelism{Tensor: ptr(int32(16))}))
	_, err := Plan(fleet.NewCluster(nodes), r)
	if no := (*Unplaceable)(nil); !errors.As(err, &no) || !strings.Contains(no.Message, "It would fit with parallelism.tensor 1 instead of 16") {
		t.Errorf("tensor 16 over nodes: got %v", err)
	}
}
