// Package plantest has devices, hosts, models and requests for tests of the planner: fixed ones and random ones.
package plantest

import (
	"fmt"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/model"
)

// Product is a device as a test wants it.
type Product struct {
	Vendor string
	Name   string
	Family v1alpha1.DeviceFamily
	MiB    int64
	GBps   int64
	TFLOPS map[v1alpha1.Precision]int64
}

// Memory as the drivers report it, peak rates from the vendors' datasheets.
var (
	H100   = Product{"nvidia", "NVIDIA H100 80GB HBM3", v1alpha1.FamilyGPU, 81559, 3350, map[v1alpha1.Precision]int64{v1alpha1.BF16: 989, v1alpha1.FP16: 989, v1alpha1.FP8: 1979, v1alpha1.INT8: 1979}}
	H200   = Product{"nvidia", "NVIDIA H200", v1alpha1.FamilyGPU, 143771, 4800, H100.TFLOPS}
	L40s   = Product{"nvidia", "NVIDIA L40S", v1alpha1.FamilyGPU, 46068, 864, map[v1alpha1.Precision]int64{v1alpha1.BF16: 362, v1alpha1.FP16: 362, v1alpha1.FP8: 733, v1alpha1.INT8: 733}}
	T4     = Product{"nvidia", "Tesla T4", v1alpha1.FamilyGPU, 15360, 320, map[v1alpha1.Precision]int64{v1alpha1.FP16: 65, v1alpha1.INT8: 130}}
	A100   = Product{"nvidia", "NVIDIA A100-SXM4-80GB", v1alpha1.FamilyGPU, 81920, 2039, map[v1alpha1.Precision]int64{v1alpha1.BF16: 312, v1alpha1.FP16: 312, v1alpha1.INT8: 624}}
	Mi300x = Product{"amd", "AMD Instinct MI300X", v1alpha1.FamilyGPU, 196592, 5300, map[v1alpha1.Precision]int64{v1alpha1.BF16: 1307, v1alpha1.FP16: 1307, v1alpha1.FP8: 2615, v1alpha1.INT8: 2615}}
	V5p    = Product{"google", "TPU v5p", v1alpha1.FamilyTPU, 97280, 2765, map[v1alpha1.Precision]int64{v1alpha1.BF16: 459, v1alpha1.INT8: 918}}
)

// Device returns a healthy device of the product at a bus number.
func (p Product) Device(bus int) v1alpha1.Device {
	d := v1alpha1.Device{
		ID: v1alpha1.DeviceID(fmt.Sprintf("%s-0000:%02x:00.0", p.Vendor, bus)), Vendor: p.Vendor, Family: p.Family, Product: p.Name,
		Memory: &v1alpha1.DeviceMemory{TotalMiB: p.MiB}, Health: v1alpha1.DeviceHealth{State: v1alpha1.Healthy},
	}
	if p.GBps > 0 {
		d.Performance = &v1alpha1.DevicePerformance{MemoryBandwidthMBps: p.GBps * 1000}
		for _, f := range fleet.Formats {
			if rate := p.TFLOPS[f]; rate > 0 {
				d.Performance.Peak = append(d.Performance.Peak, v1alpha1.PeakRate{Precision: f, GFLOPS: rate * 1000})
			}
		}
	}
	return d
}

// Host is a node with some devices, in one link domain if linked.
func Host(name string, linked bool, products ...Product) fleet.Node {
	n := fleet.Node{Name: name, Address: "10.0.0.1", Labels: map[string]string{"kubernetes.io/hostname": name}, Inventory: &v1alpha1.AcceleratorInventory{}}
	status := &n.Inventory.Status
	var members []v1alpha1.DeviceID
	for i, p := range products {
		status.Devices = append(status.Devices, p.Device(i+1))
		members = append(members, status.Devices[i].ID)
	}
	if linked {
		status.Links.Domains = []v1alpha1.LinkDomain{{Name: "nvswitch0", Kind: "NVLink", Topology: v1alpha1.TopologySwitch, Members: members}}
	}
	return n
}

// Times8 is eight devices of a product.
func Times8(p Product) []Product { return Many(8, p) }

// Many is so many devices of a product.
func Many(n int, p Product) []Product {
	list := make([]Product, n)
	for i := range list {
		list[i] = p
	}
	return list
}

// Placement asks for inference with a context and a number of sequences; changes alter it.
func Placement(length, sequences int32, changes ...func(*v1alpha1.ModelPlacementSpec)) *v1alpha1.ModelPlacement {
	p := &v1alpha1.ModelPlacement{}
	p.Name = "test"
	p.Spec = v1alpha1.ModelPlacementSpec{
		Quantization: v1alpha1.QuantizationAuto, Engine: v1alpha1.EngineVLLM,
		Workload: v1alpha1.Workload{Inference: &v1alpha1.InferenceWorkload{MaxModelLen: length, MaxSequences: sequences}},
	}
	for _, change := range changes {
		change(&p.Spec)
	}
	return p
}

// Format asks for a quantization.
func Format(q v1alpha1.Quantization) func(*v1alpha1.ModelPlacementSpec) {
	return func(s *v1alpha1.ModelPlacementSpec) { s.Quantization = q }
}

// Replicas asks for so many copies.
func Replicas(n int32) func(*v1alpha1.ModelPlacementSpec) {
	return func(s *v1alpha1.ModelPlacementSpec) { s.Replicas = &n }
}

// Parallelism asks for degrees.
func Parallelism(p v1alpha1.Parallelism) func(*v1alpha1.ModelPlacementSpec) {
	return func(s *v1alpha1.ModelPlacementSpec) { s.Parallelism = &p }
}

// Ptr returns a pointer to a value.
func Ptr[T any](v T) *T { return &v }

// Llama returns a Llama of 8, 70 or 405 billion parameters; the architectures are from the models' own config.json.
func Llama(t testing.TB, billions int) *model.Model {
	t.Helper()
	a := v1alpha1.Architecture{VocabSize: 128256, MaxContext: 131072, Attention: v1alpha1.Attention{HeadDim: 128, KVHeads: 8}}
	switch billions {
	case 8:
		a.Layers, a.HiddenSize, a.Attention.Heads, a.MLP.IntermediateSize = 32, 4096, 32, 14336
	case 70:
		a.Layers, a.HiddenSize, a.Attention.Heads, a.MLP.IntermediateSize = 80, 8192, 64, 28672
	case 405:
		a.Layers, a.HiddenSize, a.Attention.Heads, a.MLP.IntermediateSize = 126, 16384, 128, 53248
	default:
		t.Fatalf("no Llama of %dB here", billions)
	}
	m, err := model.FromArchitecture(fmt.Sprintf("Llama-3.1-%dB", billions), a)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Spec is what a request is changed by.
type Spec = v1alpha1.ModelPlacementSpec

// Serving is the smallest load of inference.
var Serving = v1alpha1.Workload{Inference: &v1alpha1.InferenceWorkload{MaxModelLen: 1, MaxSequences: 1}}

// EngineOf asks for an engine.
func EngineOf(e v1alpha1.Engine) func(*Spec) { return func(s *Spec) { s.Engine = e } }

// Train asks for training instead of inference, by Torch where no engine is asked for.
func Train(w v1alpha1.TrainingWorkload) func(*Spec) {
	return func(s *Spec) {
		s.Workload = v1alpha1.Workload{Training: &w}
		if s.Engine == "" || s.Engine == v1alpha1.EngineVLLM {
			s.Engine = v1alpha1.EngineTorch
		}
	}
}

// Together asks for so many sequences at once over all copies, instead of a number for each.
func Together(n int32) func(*v1alpha1.ModelPlacementSpec) {
	return func(s *v1alpha1.ModelPlacementSpec) {
		s.Workload.Inference.MaxSequences, s.Workload.Inference.TotalSequences = 0, n
	}
}
