package plantest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/fleet"
	"github.com/rankwright/rankwright/pkg/model"
)

// Draws are random models, nodes and placements.
type Draws struct {
	*rand.Rand
	tb testing.TB
}

// Draw returns draws from a seed of two numbers.
func Draw(tb testing.TB, seed, stream uint64) Draws {
	return Draws{rand.New(rand.NewPCG(seed, stream)), tb}
}

func pick[T any](r Draws, list ...T) T { return list[r.IntN(len(list))] }

func (r Draws) in(low, high int) int { return low + r.IntN(high-low+1) }

// OneIn is true once in n times.
func (r Draws) OneIn(n int) bool { return r.IntN(n) == 0 }

// Model is of layers of about a GiB each.
func (r Draws) Model(layers int) *model.Model {
	a := v1alpha1.Architecture{
		Layers: int32(r.in(1, layers)), HiddenSize: 4096, VocabSize: pick(r, int32(1000), 32000), TiedEmbeddings: r.OneIn(2),
		Attention: v1alpha1.Attention{Heads: 32, KVHeads: pick(r, int32(2), 8), HeadDim: 128}, MLP: v1alpha1.MLP{IntermediateSize: 45056},
	}
	if r.OneIn(3) {
		a.MoE = &v1alpha1.MoE{Experts: pick(r, int32(4), 6, 8), ActiveExperts: 1, IntermediateSize: 12288}
	}
	m, err := model.FromArchitecture("drawn", a)
	if err != nil {
		r.tb.Fatal(err)
	}
	return m
}

// Nodes have so many devices together, mostly alike on a node, in few sizes, linked or not; some are taken, or used by
// others in part.
func (r Draws) Nodes(devices int) []fleet.Node {
	products := []Product{H100, L40s, A100, Mi300x}
	unknown := r.OneIn(5)
	common := pick(r, products...)
	memory := func() int64 { return pick(r, int64(6200), 7600, 8800, 12000, 16000, 24000, 40000) }
	size := memory()
	nodes := make([]fleet.Node, 0, 4)
	for left := r.in(2, devices); left > 0; {
		count := r.in(1, left)
		left -= count
		p, one := common, size
		if r.OneIn(3) {
			p, one = pick(r, products...), memory()
		}
		list := make([]Product, count)
		for i := range list {
			list[i] = p
			if list[i].MiB = one; r.OneIn(10) {
				list[i].MiB = memory()
			}
			if unknown {
				list[i].GBps, list[i].Name = 0, "big "+p.Vendor
			}
		}
		n := Host(fmt.Sprint("n", len(nodes)), r.OneIn(2), list...)
		if r.OneIn(4) {
			n.Inventory.Status.NICs = []v1alpha1.NIC{{Name: "mlx5_0/1", Kind: v1alpha1.NICInfiniBand, Gbps: 400, Up: true}}
		}
		n.Taken = map[v1alpha1.DeviceID]string{}
		for j := range n.Inventory.Status.Devices {
			d := &n.Inventory.Status.Devices[j]
			d.Memory.UsedByOthersMiB = pick(r, int64(0), 0, 0, 300, 600, 900)
			if r.OneIn(12) {
				n.Taken[d.ID] = "models/other"
			}
		}
		nodes = append(nodes, n)
	}
	return nodes
}

// Request is a placement of a model on so many devices.
func (r Draws) Request(m *model.Model, devices int) *v1alpha1.ModelPlacement {
	return Placement(pick(r, int32(1024), 4096), pick(r, int32(1), 8, 64), Format("BF16"), Replicas(int32(pick(r, 1, 1, 1, 2, 2, 3, 4))), func(s *Spec) {
		in := s.Workload.Inference
		in.Objective = pick(r, v1alpha1.ObjectiveLatency, v1alpha1.ObjectiveThroughput, v1alpha1.ObjectiveCost)
		if m.Architecture.MoE == nil {
			s.Engine = pick(r, v1alpha1.EngineVLLM, v1alpha1.EngineSGLang, v1alpha1.EngineTensorRTLLM)
		}
		if r.OneIn(5) {
			s.Quantization = v1alpha1.QuantizationAuto
		}
		switch r.IntN(8) {
		case 0:
			s.Topology = &v1alpha1.TopologyRequirements{Required: Ptr("kubernetes.io/hostname")}
		case 1:
			s.Topology = &v1alpha1.TopologyRequirements{Preferred: Ptr("kubernetes.io/hostname")}
		}
		if r.OneIn(4) {
			in.MaxTPOTMillis = Ptr(int32(pick(r, 3, 6, 8, 12, 20, 40, 80)))
		}
		if r.OneIn(6) {
			in.MaxTTFTMillis = Ptr(int32(pick(r, 80, 150, 300, 600, 2000)))
		}
		var p v1alpha1.Parallelism
		if r.OneIn(10) {
			p.Tensor = Ptr(pick(r, int32(1), 2, 4))
			s.Parallelism = &p
		}
		if r.OneIn(10) {
			p.Pipeline = Ptr(int32(r.in(1, min(devices, int(m.Architecture.Layers)))))
			s.Parallelism = &p
		}
	})
}
