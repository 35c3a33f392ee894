package plan

import (
	"encoding/json"
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

// modelOf resolves what a placement says of its model without a cluster.
func modelOf(s *v1alpha1.ModelSource) (*model.Model, error) {
	switch {
	case s.Architecture != nil:
		return model.FromArchitecture("fuzzed", *s.Architecture)
	case s.Parameters != nil:
		return model.FromParameters(*s.Parameters)
	case s.Name != nil:
		return model.Lookup(*s.Name)
	}
	return nil, errors.New("no model")
}

// FuzzPlan holds Plan to a plan that keeps every rule, or to one of its two errors that says what is wrong, on any
// placement that can be decoded and any small cluster.
func FuzzPlan(f *testing.F) {
	for _, text := range []string{
		`{"model":{"name":"Llama-3.1-8B"},"workload":{"inference":{"maxModelLen":4096,"maxSequences":8,"objective":"Latency","maxTPOTMillis":20}}}`,
		`{"model":{"parameters":20000000000},"quantization":"Auto","replicas":2,"workload":{"inference":{"maxModelLen":1073741824,"maxSequences":2147483647,"inputTokens":-1,"outputTokens":2147483647}}}`,
		`{"model":{"name":"Mixtral-8x7B"},"engine":"SGLang","parallelism":{"tensor":2,"expert":2,"data":2},"workload":{"inference":{"maxModelLen":1}}}`,
		`{"model":{"name":"Llama-3.2-1B"},"engine":"Megatron","parallelism":{"data":2},"workload":{"training":{"method":"LoRA","sequenceLength":4096,"globalBatch":8,"microBatch":2,"sharding":"FSDP"}}}`,
		`{"model":{"architecture":{"layers":2147483647,"hiddenSize":2147483647,"vocabSize":2147483647,"attention":{"heads":1,"headDim":2147483647},"mlp":{"intermediateSize":2147483647}}},"workload":{"inference":{"maxModelLen":1}}}`,
		`{"model":{"name":"GPT-OSS-20B"},"kvCacheType":"FP8","devices":{"families":["GPU"],"minMemoryMiB":9223372036854775807},"topology":{"required":"kubernetes.io/hostname"},"workload":{"inference":{"maxModelLen":2048}}}`,
	} {
		f.Add([]byte(text), uint64(1), int64(0))
		f.Add([]byte(text), uint64(7), int64(60000))
	}
	f.Fuzz(func(t *testing.T, raw []byte, seed uint64, more int64) {
		p := &v1alpha1.ModelPlacement{}
		if len(raw) > 4096 || json.Unmarshal(raw, &p.Spec) != nil {
			return
		}
		m, err := modelOf(&p.Spec.Model)
		if err != nil {
			return
		}
		holdFuzzed(t, shape.Request{Placement: p, Model: m}, seed, more)
	})
}

// holdFuzzed plans on a small cluster whose devices have so many MiB more.
func holdFuzzed(t *testing.T, request shape.Request, seed uint64, more int64) {
	t.Helper()
	r := plantest.Draw(t, seed, 0)
	nodes := r.Nodes(6)
	for i := range nodes {
		for j := range nodes[i].Inventory.Status.Devices {
			nodes[i].Inventory.Status.Devices[j].Memory.TotalMiB += more
		}
	}
	spec, err := Plan(fleet.NewCluster(nodes), request)
	var bad *shape.InvalidRequest
	var no *Unplaceable
	switch {
	case errors.As(err, &bad):
		if bad.Field == "" || !strings.HasPrefix(bad.Message, bad.Field+" is ") || !strings.Contains(bad.Message, ": ") {
			t.Errorf("the message does not name field, value and remedy: %q", bad.Message)
		}
	case errors.As(err, &no):
		if no.Reason == "" || no.Message == "" || no.Shortfall.NeededMiB < 0 || no.Shortfall.FreeMiB < 0 {
			t.Errorf("got %+v", no)
		}
	case err != nil:
		t.Errorf("got %v, neither an invalid request nor one that does not fit", err)
	case request.Placement.Spec.Workload.Inference != nil && more >= 0 && more < 1<<20:
		checkPlan(t, nodes, request, spec)
	}
}

// FuzzPlanNumbers is FuzzPlan with every number of a request given by itself, so that each is huge, negative or at odds with
// the others.
func FuzzPlanNumbers(f *testing.F) {
	f.Add(uint64(1), uint16(0), int32(4096), int32(8), int32(1024), int32(1024), int32(100), int32(20), int32(1), int32(2), int32(1), int32(1), int32(1), int64(0))
	f.Add(uint64(2), uint16(0xffff), int32(math.MaxInt32), int32(math.MaxInt32), int32(-1), int32(math.MinInt32), int32(0), int32(-5), int32(1024), int32(1024), int32(126), int32(16384), int32(8), int64(math.MaxInt64))
	f.Add(uint64(3), uint16(0x1234), int32(1<<24), int32(1<<20), int32(1<<24), int32(1), int32(1), int32(1), int32(3), int32(0), int32(0), int32(0), int32(0), int64(math.MinInt64))
	f.Add(uint64(4), uint16(0x0080), int32(2048), int32(64), int32(8), int32(2), int32(0), int32(0), int32(2), int32(2), int32(2), int32(2), int32(0), int64(70000))
	names := []string{"Llama-3.2-1B", "Mixtral-8x7B", "DeepSeek-V3", "GPT-OSS-20B"}
	engines := []v1alpha1.Engine{"", v1alpha1.EngineVLLM, v1alpha1.EngineSGLang, v1alpha1.EngineTensorRTLLM, v1alpha1.EngineMegatron, v1alpha1.EngineDeepSpeed, v1alpha1.EngineTorch, v1alpha1.EngineJAX}
	objectives := []v1alpha1.Objective{"", v1alpha1.ObjectiveLatency, v1alpha1.ObjectiveThroughput, v1alpha1.ObjectiveCost}
	set := func(n int32) *int32 {
		if n == 0 {
			return nil
		}
		return &n
	}
	f.Fuzz(func(t *testing.T, seed uint64, choice uint16, length, sequences, input, output, ttft, tpot, copies, tensor, stages, data, expert int32, more int64) {
		m, err := model.Lookup(names[choice&3])
		if err != nil {
			t.Fatal(err)
		}
		p := &v1alpha1.ModelPlacement{}
		s := &p.Spec
		s.Engine, s.Replicas = engines[choice>>2&7], set(copies)
		s.Parallelism = &v1alpha1.Parallelism{Tensor: set(tensor), Pipeline: set(stages), Data: set(data), Expert: set(expert)}
		if choice>>5&1 == 0 {
			s.Quantization = v1alpha1.QuantizationAuto
		}
		if choice>>6&1 == 0 {
			s.KVCacheType = "FP8"
		}
		if choice>>7&1 == 0 {
			s.Workload.Inference = &v1alpha1.InferenceWorkload{
				MaxModelLen: length, MaxSequences: sequences, InputTokens: set(input), OutputTokens: set(output),
				MaxTTFTMillis: set(ttft), MaxTPOTMillis: set(tpot), Objective: objectives[choice>>8&3],
			}
		} else {
			s.Workload.Training = &v1alpha1.TrainingWorkload{
				Method: []v1alpha1.TrainingMethod{"Full", "LoRA", "QLoRA", "DPO"}[choice>>8&3], SequenceLength: length, GlobalBatch: sequences, MicroBatch: input,
				Sharding: []v1alpha1.TrainingSharding{"", "ZeRO1", "ZeRO3", "FSDP"}[choice>>10&3],
			}
		}
		holdFuzzed(t, shape.Request{Placement: p, Model: m}, seed, more)
	})
}
