package truth

import (
	"fmt"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/model"
)

// trained reads a row of Megatron's weak scaling: a GPT model of sequences of 2048 tokens and 51200 words on nodes of eight A100
// with a 200 Gbit/s adapter for each.
func trained(_ *library, r record) ([]Observation, error) {
	heads, hidden := int32(r.whole("heads")), int32(r.whole("hidden"))
	tensor, stages, devices := r.whole("tp"), r.whole("pp"), r.whole("gpus")
	m, err := model.FromArchitecture(fmt.Sprintf("GPT-%gB", r.number("params_b")), v1alpha1.Architecture{
		Layers: int32(r.whole("layers")), HiddenSize: hidden, VocabSize: 51200, TiedEmbeddings: true, NormBias: true,
		Attention: v1alpha1.Attention{Heads: heads, KVHeads: heads, HeadDim: hidden / heads, QKVBias: true, OutputBias: true},
		MLP:       v1alpha1.MLP{IntermediateSize: 4 * hidden, Ungated: true, Bias: true},
	})
	if err != nil {
		return nil, err
	}
	d, product, err := device("A100-SXM4-80GB")
	if err != nil {
		return nil, err
	}
	d.Network = 25e9
	p := cost.NewProfile(m, cost.Stored(m, v1alpha1.FP16, v1alpha1.FP16))
	return []Observation{{
		Table: "megatron", Model: m.Name, GPU: product.Name, Devices: devices, Quantity: TrainingRate, Measured: r.number("tflops_per_gpu") * 1e12,
		Group: m.Name, Cell: m.Name,
		Family: cost.Family{Architecture: d.Architecture, Engine: cost.Megatron, Class: p.Class()},
		Training: &cost.Training{
			Profile: p, Device: d, Strategy: cost.Strategy{Tensor: tensor, Pipeline: stages}, Replicas: devices / (tensor * stages),
			Batch: r.number("batch"), MicroBatch: 1, Sequence: 2048, Checkpointing: true,
		},
	}}, nil
}
