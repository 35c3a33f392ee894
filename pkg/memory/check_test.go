package memory

import (
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
)

// TestErrors: every field that is refused is named with its value and a remedy.
func TestErrors(t *testing.T) {
	base := func() (Setup, Device) {
		return Setup{Model: lookup(t, "Llama-3.1-8B"), Weights: v1alpha1.BF16, Inference: &Inference{MaxModelLen: 4096}}, h200
	}
	training := func(s *Setup, load v1alpha1.TrainingWorkload) {
		load.SequenceLength, load.GlobalBatch = max(load.SequenceLength, 1), max(load.GlobalBatch, 1)
		s.Inference, s.Training = nil, &load
	}
	for _, c := range []struct {
		name   string
		change func(s *Setup, d *Device)
		want   string
	}{
		{"no model", func(s *Setup, _ *Device) { s.Model = nil }, "model is missing: name one"},
		{"engine", func(s *Setup, _ *Device) { s.Engine = "Ollama" }, `engine "Ollama" is not known: use one of vLLM`},
		{"no workload", func(s *Setup, _ *Device) { s.Inference = nil }, "set exactly one of inference and training"},
		{"two workloads", func(s *Setup, _ *Device) { s.Training = &v1alpha1.TrainingWorkload{} }, "set exactly one of inference and training"},
		{"weights", func(s *Setup, _ *Device) { s.Weights = v1alpha1.FP4 }, `weights "FP4" is not a stored precision: use one of [FP32`},
		{"cache", func(s *Setup, _ *Device) { s.KV = "FP6" }, `kv "FP6" is not a stored precision: use one of [FP32`},
		{"degree", func(s *Setup, _ *Device) { s.Layout.Tensor = -2 }, "layout.tensor -2 is not a degree: use 1"},
		{"ranks", func(s *Setup, _ *Device) { s.Layout.Tensor, s.Layout.AttentionData = 1<<19, 1<<19 }, "more than 1048576 ranks: lower"},
		{"stages", func(s *Setup, _ *Device) { s.Layout.Pipeline = 33 }, "layout.pipeline 33 is more than the model's 32 layers: lower it"},
		{"experts", func(s *Setup, _ *Device) { s.Layout.Tensor, s.Layout.Expert = 4, 3 }, "layout.expert 3 does not divide the 4 ranks"},
		{"replicas", func(s *Setup, _ *Device) { s.Layout.Data = 2 }, "layout.data 2 is for training: set attentionData"},
		{"context", func(s *Setup, _ *Device) { s.Layout.Tensor, s.Layout.DecodeContext = 4, 3 }, "layout.decodeContext 3 does not divide layout.tensor 4"},
		{"copies", func(s *Setup, _ *Device) { s.Layout.Tensor, s.Layout.DecodeContext = 8, 2 }, "layout.decodeContext 2 is more than the 1 copies"},
		{"no length", func(s *Setup, _ *Device) { s.Inference.MaxModelLen = 0 }, "inference.maxModelLen is missing: set"},
		{"length", func(s *Setup, _ *Device) { s.Inference.MaxModelLen = -1 }, "inference.maxModelLen -1 is out of range: use 1"},
		{"sequences", func(s *Setup, _ *Device) { s.Inference.Sequences = 1 << 21 }, "inference.sequences 2097152 is out of range: use 1"},
		{"utilization", func(s *Setup, _ *Device) { s.Inference.Utilization = 1001 }, "inference.utilization 1001 is out of range: use 1 to 1000"},
		{"device", func(_ *Setup, d *Device) { d.TotalBytes = -1 }, "device.totalBytes -1 is out of range: use 0"},
		{"no memory", func(_ *Setup, d *Device) { d.TotalBytes = 0 }, "device.totalBytes is missing: set"},
		{"method", func(s *Setup, _ *Device) { training(s, v1alpha1.TrainingWorkload{Method: "Evolve"}) }, `training.method "Evolve" is not known: use Full`},
		{"optimizer", func(s *Setup, _ *Device) { training(s, v1alpha1.TrainingWorkload{Optimizer: "Lion"}) }, `training.optimizer "Lion" is not known: use AdamW`},
		{"sharding", func(s *Setup, _ *Device) { training(s, v1alpha1.TrainingWorkload{Sharding: "ZeRO4"}) }, `training.sharding "ZeRO4" is not known: use None`},
		{"sequence", func(s *Setup, _ *Device) {
			training(s, v1alpha1.TrainingWorkload{SequenceLength: 1 << 25})
		}, "training.sequenceLength 33554432 is out of range: use 1"},
		{"micro-batch", func(s *Setup, _ *Device) {
			training(s, v1alpha1.TrainingWorkload{MicroBatch: 9, GlobalBatch: 8})
		}, "training.microBatch 9 is out of range: use 1 to globalBatch 8"},
		{"attention data", func(s *Setup, _ *Device) {
			training(s, v1alpha1.TrainingWorkload{})
			s.Layout.AttentionData = 2
		}, "layout.attentionData 2 is for inference: set data"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, d := base()
			c.change(&s, &d)
			if _, err := New(s, d); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want an error with %q", err, c.want)
			}
		})
	}
}

// TestVisible: what a process sees of the memory that NVIDIA's driver reports is never more than published logs show,
// and at most 1 % less. MiB by nvidia-smi against GiB by cudaMemGetInfo.
func TestVisible(t *testing.T) {
	for _, c := range []struct {
		product string
		mib     int64
		visible float64
	}{{"NVIDIA H100 80GB HBM3", 81559, 79.18}, {"NVIDIA A100-SXM4-80GB", 81920, 79.15}, {"NVIDIA L4", 23034, 22.07}, {"Tesla T4", 15360, 14.56}, {"NVIDIA GeForce RTX 5090", 32607, 31.37}} {
		got := float64(Device{Vendor: "nvidia", TotalBytes: c.mib * mib}.visible()) / gib
		if got < 0.99*c.visible || got > 1.005*c.visible {
			t.Errorf("%s: %.2f GiB, a process sees %.2f", c.product, got, c.visible)
		}
	}
}
