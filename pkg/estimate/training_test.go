package estimate

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/facts"
	"github.com/rankwright/rankwright/pkg/model"
)

// TestMegatron: the weak scaling of GPT models on A100, whose figures count what is computed again. They are of 2021: attention wrote its scores, and
// gradients were reduced when the last pass was over. Estimates are of programs of today, so that most are faster, the smallest models by a third.
func TestMegatron(t *testing.T) {
	var file struct{ Rows [][11]float64 }
	facts.Decode(t, "truth/megatron_weak_scaling.json", &file)
	var errs []float64
	for _, r := range file.Rows {
		heads, hidden := int32(r[1]), int32(r[2])
		m, err := model.FromArchitecture(fmt.Sprintf("GPT-%gB", r[0]), v1alpha1.Architecture{
			Layers: int32(r[3]), HiddenSize: hidden, VocabSize: 51200, TiedEmbeddings: true, NormBias: true,
			Attention: v1alpha1.Attention{Heads: heads, KVHeads: heads, HeadDim: hidden / heads, QKVBias: true, OutputBias: true},
			MLP:       v1alpha1.MLP{IntermediateSize: 4 * hidden, Ungated: true, Bias: true},
		})
		if err != nil {
			t.Fatal(err)
		}
		d := deployed(t, "Llama-3.1-8B", "A100-SXM4-80GB", "Megatron", "FP16")
		d.Model, d.Degrees = m, Degrees{Tensor: int(r[4]), Pipeline: int(r[5])}
		d.Replicas = int(r[6]) / (d.Degrees.Tensor * d.Degrees.Pipeline)
		got, err := Train(Training{Deployment: d, Workload: v1alpha1.TrainingWorkload{
			SequenceLength: 2048, GlobalBatch: int32(r[7]), MicroBatch: 1, ActivationCheckpointing: true,
		}})
		if err != nil {
			t.Errorf("%s: %v", m.Name, err)
			continue
		}
		if !got.Fits {
			t.Errorf("%s ran, and does not fit: %s", m.Name, got.Reason)
			continue
		}
		errs = append(errs, math.Abs(*got.TFLOPSPerDevice/r[8]-1))
		t.Logf("%s: %.0f TFLOPS a device, published %.0f", m.Name, *got.TFLOPSPerDevice, r[8])
	}
	got := 100 * median(errs)
	t.Logf("median error %.1f %%", got)
	if len(errs) < 10 || !(got <= 10) {
		t.Errorf("median error %.1f %% of %d rows, more than 10 %%", got, len(errs))
	}
}

func trainingOf(t *testing.T) Training {
	t.Helper()
	d := deployed(t, "Llama-3.1-8B", "H100", "Megatron", "BF16")
	d.Degrees, d.Replicas = Degrees{Tensor: 2}, 4
	return Training{Deployment: d, Workload: v1alpha1.TrainingWorkload{
		Method: "Full", Optimizer: "AdamW", SequenceLength: 4096, GlobalBatch: 64, MicroBatch: 1, Sharding: "ZeRO1", ActivationCheckpointing: true,
	}}
}

func TestTrainRefuses(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		change     func(*Training)
	}{
		{"batch", "global-batch 63", func(s *Training) { s.Workload.GlobalBatch = 63 }},
		{"sequence", "sequence 0", func(s *Training) { s.Workload.SequenceLength = 0 }},
		{"negative", "global-batch -1", func(s *Training) { s.Workload.GlobalBatch = -1 }},
		{"groups", "dp 2", func(s *Training) { s.Degrees.AttentionData = 2 }},
		{"heads", "tp 3", func(s *Training) { s.Degrees.Tensor = 3 }},
		{"context", "cp -1", func(s *Training) { s.Context = -1 }},
		{"tokens", "sequence-parallel 1: DeepSpeed has none", func(s *Training) {
			s.Engine, s.Workload.SequenceParallel = deployed(t, "Llama-3.1-8B", "H100", "DeepSpeed", "BF16").Engine, true
		}},
		{"FP8", "fp8 1: DeepSpeed", func(s *Training) {
			s.Engine, s.Workload.Compute = deployed(t, "Llama-3.1-8B", "H100", "DeepSpeed", "BF16").Engine, "FP8"
		}},
		{"FP8 of A100", "fp8: NVIDIA A100-SXM4-80GB does not compute in it", func(s *Training) {
			s.Product, s.Workload.Compute = deployed(t, "Llama-3.1-8B", "A100-SXM4-80GB", "Megatron", "BF16").Product, "FP8"
		}},
		{"runs", "pp 1: virtualStages 2 are of the stages of a pipeline", func(s *Training) { s.Workload.VirtualStages = 2 }},
		{"recompute", "recompute None contradicts activationCheckpointing true", func(s *Training) { s.Workload.Recompute = "None" }},
		{"sharding", "sharding", func(s *Training) { s.Workload.Sharding = "ZeRO9" }},
		{"method", "method", func(s *Training) { s.Workload.Method = "Osmosis" }},
		{"base of QLoRA", "quantization is BF16: with method QLoRA use one of [INT4 NVFP4 MXFP4]", func(s *Training) { s.Workload.Method, s.Weights = "QLoRA", "BF16" }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := trainingOf(t)
			tt.change(&s)
			if _, err := Train(s); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want one with %q", err, tt.want)
			}
		})
	}
}

// TestTrainingNeedsWhatItSays: sharding lowers the memory of a device, adapters have no optimizer of the weights, and
// without checkpoints the model's operations are all of them.
func TestTrainingNeedsWhatItSays(t *testing.T) {
	train := func(change func(*Training)) *Trained {
		s := trainingOf(t)
		change(&s)
		got, err := Train(s)
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	base := train(func(*Training) {})
	if !base.Fits || base.Devices != 8 || base.Memory.Optimizer == 0 || base.Memory.Gradients == 0 {
		t.Errorf("got %+v", base)
	}
	if *base.ModelTFLOPSPerDevice >= *base.TFLOPSPerDevice {
		t.Error("operations that are computed again are not told apart")
	}
	if got := train(func(s *Training) { s.Workload.Sharding = "ZeRO3" }); got.Memory.Weights >= base.Memory.Weights {
		t.Error("ZeRO3 does not share out the weights")
	}
	if got := train(func(s *Training) { s.Workload.Method = "LoRA" }); got.Memory.Optimizer > base.Memory.Optimizer/10 || *got.StepSeconds >= *base.StepSeconds {
		t.Error("LoRA costs as much as training everything")
	}
	lora := train(func(s *Training) { s.Workload.Method, s.Weights = "LoRA", "" })
	qlora := train(func(s *Training) { s.Workload.Method, s.Weights = "QLoRA", "" })
	if lora.Weights != "BF16" || qlora.Weights != "INT4" || qlora.Memory.Weights > lora.Memory.Weights*2/5 || qlora.Memory.Optimizer != lora.Memory.Optimizer {
		t.Errorf("QLoRA keeps %d bytes in %s, LoRA %d in %s", qlora.Memory.Weights, qlora.Weights, lora.Memory.Weights, lora.Weights)
	}
	if got := train(func(s *Training) { s.Workload.ActivationCheckpointing = false; s.Workload.SequenceLength = 512 }); *got.ModelTFLOPSPerDevice != *got.TFLOPSPerDevice {
		t.Error("without checkpoints nothing is computed again")
	}
	if got := train(func(s *Training) { s.Workload.Sharding = "None"; s.Degrees.Tensor = 1; s.Replicas = 8 }); got.Fits || got.StepSeconds != nil || got.Reason == "" {
		t.Errorf("16 bytes of 8 billion parameters fit 80 GB: %+v", got)
	}
	if got := train(func(s *Training) { s.Workload.Method = "DPO"; s.Workload.Sharding = "ZeRO3" }); len(got.Warnings) == 0 {
		t.Error("no word about the reference model")
	}
}

// TestQLoRAOf70B: the base of 70 billion parameters is kept in four bits, so that adapters of it train in 45.2 GiB.
func TestQLoRAOf70B(t *testing.T) {
	d := deployed(t, "Llama-3.1-70B", "H100", "Torch", "BF16")
	d.Weights = "" // those of the method
	got, err := Train(Training{Deployment: d, Workload: v1alpha1.TrainingWorkload{
		Method: "QLoRA", Optimizer: "AdamW", SequenceLength: 2048, GlobalBatch: 8, MicroBatch: 1, Recompute: v1alpha1.RecomputeFull,
	}})
	if err != nil {
		t.Fatal(err)
	}
	if gib := float64(got.Memory.Total) / (1 << 30); !got.Fits || got.Weights != "INT4" || math.Abs(gib-45.2) > 0.05 {
		t.Errorf("%.2f GiB in %s", gib, got.Weights)
	}
}

// TestTrainingOptions: each option lowers what it is for, and costs what it costs.
func TestTrainingOptions(t *testing.T) {
	train := func(change func(*Training)) *Trained {
		t.Helper()
		s := trainingOf(t)
		s.Workload.ActivationCheckpointing = false
		s.Degrees, s.Replicas, s.Workload.SequenceLength = Degrees{Tensor: 4, Pipeline: 2}, 1, 2048
		change(&s)
		got, err := Train(s)
		if err != nil {
			t.Fatal(err)
		}
		if !got.Fits {
			t.Fatal(got.Reason)
		}
		return got
	}
	base := train(func(*Training) {})
	selective := train(func(s *Training) { s.Workload.Recompute = "Selective" })
	full := train(func(s *Training) { s.Workload.Recompute = "Full" })
	if base.Memory.Activations <= selective.Memory.Activations || selective.Memory.Activations <= full.Memory.Activations ||
		*base.StepSeconds >= *selective.StepSeconds || *selective.StepSeconds >= *full.StepSeconds {
		t.Errorf("nothing, some and all computed again: %d, %d and %d bytes, %g, %g and %g s", base.Memory.Activations, selective.Memory.Activations, full.Memory.Activations,
			*base.StepSeconds, *selective.StepSeconds, *full.StepSeconds)
	}
	if got := train(func(s *Training) { s.Workload.ActivationCheckpointing = true }); *got.StepSeconds != *full.StepSeconds || got.Memory != full.Memory {
		t.Error("checkpointing is not Full")
	}
	if got := train(func(s *Training) { s.Workload.SequenceParallel = true }); got.Memory.Activations >= base.Memory.Activations || *got.StepSeconds >= *base.StepSeconds {
		t.Error("tensor ranks that share out tokens save nothing")
	}
	if got := train(func(s *Training) { s.Workload.Compute = "FP8" }); *got.StepSeconds >= *base.StepSeconds || got.Memory.Activations >= base.Memory.Activations || got.Memory.Weights != base.Memory.Weights || len(got.Warnings) != len(base.Warnings) {
		t.Error("FP8 saves no time or activations, or it saves weights")
	}
	if got := train(func(s *Training) { s.Workload.VirtualStages = 4 }); *got.StepSeconds >= *base.StepSeconds || got.Memory.Activations <= base.Memory.Activations {
		t.Error("interleaved stages wait as long, or keep as little")
	}
	if got := train(func(s *Training) { s.Context = 2 }); got.Devices != 2*base.Devices || got.Memory.Activations*2 > base.Memory.Activations+1<<20 || *got.StepSeconds >= *base.StepSeconds {
		t.Errorf("context ranks share out no tokens: %+v", got)
	}
}
