package main

import (
	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/model"
	"github.com/rankwright/rankwright/pkg/shape"
)

// request asks for a model with a drawn engine, load and objective, and at times with limits, degrees, levels or selectors.
func (r draw) request(m *model.Model) shape.Request {
	p := &v1alpha1.ModelPlacement{}
	p.Name, p.Namespace = "drawn", "models"
	s := &p.Spec
	s.Replicas = ptr(pick(r, int32(1), 1, 1, 1, 2, 3, 6))
	s.Quantization = pick(r, v1alpha1.QuantizationAuto, v1alpha1.QuantizationAuto, "BF16", "FP8", "INT8", "INT4", "MXFP4", "NVFP4")
	s.KVCacheType = pick(r, v1alpha1.KVCacheType(""), "", v1alpha1.KVCacheAuto, "FP8")
	if r.oneIn(5) {
		r.training(s)
	} else {
		r.inference(s)
	}
	switch r.IntN(8) {
	case 0:
		s.Topology = &v1alpha1.TopologyRequirements{Required: ptr(pick(r, "kubernetes.io/hostname", "rack"))}
	case 1:
		s.Topology = &v1alpha1.TopologyRequirements{Preferred: ptr(pick(r, "kubernetes.io/hostname", "rack"))}
	}
	if r.oneIn(5) {
		s.Parallelism = r.parallelism()
	}
	if r.oneIn(6) {
		s.Devices = r.devices()
	}
	return shape.Request{Placement: p, Model: m}
}

func (r draw) inference(s *v1alpha1.ModelPlacementSpec) {
	s.Engine = pick(r, v1alpha1.EngineVLLM, v1alpha1.EngineVLLM, v1alpha1.EngineSGLang, v1alpha1.EngineTensorRTLLM, v1alpha1.EngineJAX)
	in := &v1alpha1.InferenceWorkload{
		MaxModelLen: pick(r, int32(1024), 4096, 8192, 32768, 131072), MaxSequences: pick(r, int32(1), 8, 64, 256, 700),
		Objective: pick(r, v1alpha1.ObjectiveLatency, v1alpha1.ObjectiveThroughput, v1alpha1.ObjectiveCost),
	}
	if r.oneIn(3) {
		in.InputTokens, in.OutputTokens = ptr(in.MaxModelLen/4), ptr(in.MaxModelLen/8)
	}
	if r.oneIn(5) {
		in.MaxTPOTMillis = ptr(pick(r, int32(3), 8, 20, 50, 100))
	}
	if r.oneIn(7) {
		in.MaxTTFTMillis = ptr(pick(r, int32(50), 200, 1000, 5000))
	}
	s.Workload = v1alpha1.Workload{Inference: in}
}

func (r draw) training(s *v1alpha1.ModelPlacementSpec) {
	s.Engine = pick(r, v1alpha1.EngineMegatron, v1alpha1.EngineDeepSpeed, v1alpha1.EngineTorch, v1alpha1.EngineJAX)
	s.Quantization = pick(r, v1alpha1.QuantizationAuto, "BF16")
	s.Workload = v1alpha1.Workload{Training: &v1alpha1.TrainingWorkload{
		Method: pick(r, v1alpha1.TrainingMethod("Full"), "LoRA", "QLoRA"), Optimizer: pick(r, v1alpha1.Optimizer("AdamW"), "", "SGD"),
		SequenceLength: pick(r, int32(2048), 8192, 32768), GlobalBatch: pick(r, int32(16), 64, 256), MicroBatch: pick(r, int32(0), 1, 2, 4),
		Sharding: pick(r, v1alpha1.TrainingSharding(""), "None", "ZeRO1", "ZeRO3", "FSDP"), ActivationCheckpointing: r.oneIn(2),
	}}
}

func (r draw) parallelism() *v1alpha1.Parallelism {
	degree := func(of ...int32) *int32 {
		if r.oneIn(2) {
			return nil
		}
		return ptr(pick(r, of...))
	}
	return &v1alpha1.Parallelism{Tensor: degree(1, 2, 4, 8), Pipeline: degree(1, 1, 2, 3, 4), Data: degree(1, 1, 2, 4), Expert: degree(1, 1, 8)}
}

func (r draw) devices() *v1alpha1.DeviceRequirements {
	switch r.IntN(4) {
	case 0:
		return &v1alpha1.DeviceRequirements{Vendors: []string{pick(r, "nvidia", "amd", "google")}}
	case 1:
		return &v1alpha1.DeviceRequirements{Families: []v1alpha1.DeviceFamily{pick(r, v1alpha1.FamilyGPU, v1alpha1.FamilyTPU, v1alpha1.FamilyNPU)}}
	case 2:
		return &v1alpha1.DeviceRequirements{MinMemoryMiB: ptr(int64(40000))}
	default:
		return &v1alpha1.DeviceRequirements{Precisions: []v1alpha1.Precision{v1alpha1.FP8}}
	}
}

func ptr[T any](v T) *T { return &v }
