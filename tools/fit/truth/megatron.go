package truth

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/model"
)

// perNode is the number of devices of the nodes that were trained on.
const perNode = 8

// gpt returns a model of GPT-2's shape.
func gpt(name string, r record, vocabulary int, biases bool, positions int) (*model.Model, error) {
	heads, hidden := int32(r.whole("heads")), int32(r.whole("hidden"))
	return model.FromArchitecture(name, v1alpha1.Architecture{
		Layers: int32(r.whole("layers")), HiddenSize: hidden, VocabSize: int32(vocabulary), TiedEmbeddings: true, NormBias: biases, Positions: int32(positions),
		Attention: v1alpha1.Attention{Heads: heads, KVHeads: heads, HeadDim: hidden / heads, QKVBias: biases, OutputBias: biases},
		MLP:       v1alpha1.MLP{IntermediateSize: 4 * hidden, Ungated: true, Bias: biases},
	})
}

// job returns an observation of a training job on devices of a product whose adapters have a rate in bytes per second.
func job(table string, m *model.Model, gpu string, devices int, network float64, engine cost.Engine, of cost.Training) (Observation, error) {
	d, product, err := device(gpu)
	if err != nil {
		return Observation{}, err
	}
	d.Network = network
	p := cost.NewProfile(m, cost.Stored(m, v1alpha1.BF16, v1alpha1.BF16))
	of.Profile, of.Device = p, d
	return Observation{
		Table: table, Model: m.Name, GPU: product.Name, Devices: devices, Quantity: TrainingRate, Group: m.Name, Cell: m.Name,
		Family: cost.Family{Architecture: d.Architecture, Engine: engine, Class: p.Class()}, Training: &of,
	}, nil
}

// weakScaling reads a row of Megatron's weak scaling: a GPT model of sequences of 2048 tokens and 51200 words on nodes of eight A100
// with a 200 Gbit/s adapter for each.
func weakScaling(_ *library, r record) ([]Observation, error) {
	tensor, stages, devices := r.whole("tp"), r.whole("pp"), r.whole("gpus")
	m, err := gpt(fmt.Sprintf("GPT-%gB", r.number("params_b")), r, 51200, true, 0)
	if err != nil {
		return nil, err
	}
	o, err := job("megatron", m, "A100-SXM4-80GB", devices, 25e9, cost.Megatron, cost.Training{
		Strategy: cost.Strategy{Tensor: tensor, Pipeline: stages}, Replicas: devices / (tensor * stages), Local: perNode / tensor,
		Batch: r.number("batch"), MicroBatch: 1, Sequence: 2048, Recompute: v1alpha1.RecomputeFull, Plain: true,
	})
	o.Measured = r.number("tflops_per_gpu") * 1e12
	return []Observation{o}, err
}
