package truth

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/cost"
	"github.com/rankwright/rankwright/pkg/model"
)

// Megatron reads the weak scaling of a folder's megatron_weak_scaling.json: GPT models of sequences of 2048 tokens and 51200
// words on nodes of eight A100 with a 200 Gbit/s adapter for each.
func Megatron(folder string) ([]Observation, error) {
	raw, err := os.ReadFile(filepath.Join(folder, "megatron_weak_scaling.json"))
	if err != nil {
		return nil, err
	}
	var file struct{ Rows [][11]float64 }
	if err := json.Unmarshal(raw, &file); err != nil {
		return nil, fmt.Errorf("megatron_weak_scaling.json: %w", err)
	}
	list := make([]Observation, 0, len(file.Rows))
	for i, r := range file.Rows {
		o, err := trained(r)
		if err != nil {
			return nil, fmt.Errorf("megatron_weak_scaling.json: row %d: %w", i, err)
		}
		list = append(list, o)
	}
	return list, nil
}

func trained(r [11]float64) (Observation, error) {
	heads, hidden, layers := int32(r[1]), int32(r[2]), int32(r[3])
	tensor, stages, devices := int(r[4]), int(r[5]), int(r[6])
	m, err := model.FromArchitecture(fmt.Sprintf("GPT-%gB", r[0]), v1alpha1.Architecture{
		Layers: layers, HiddenSize: hidden, VocabSize: 51200, TiedEmbeddings: true, NormBias: true,
		Attention: v1alpha1.Attention{Heads: heads, KVHeads: heads, HeadDim: hidden / heads, QKVBias: true, OutputBias: true},
		MLP:       v1alpha1.MLP{IntermediateSize: 4 * hidden, Ungated: true, Bias: true},
	})
	if err != nil {
		return Observation{}, err
	}
	d, product, err := device("A100-SXM4-80GB")
	if err != nil {
		return Observation{}, err
	}
	d.Network = 25e9
	p := cost.NewProfile(m, cost.Stored(m, v1alpha1.FP16, v1alpha1.FP16))
	return Observation{
		Table: "megatron", Model: m.Name, GPU: product.Name, Devices: devices, Quantity: TrainingRate, Measured: r[8] * 1e12,
		Group: m.Name, Cell: m.Name,
		Family: cost.Family{Architecture: d.Architecture, Engine: cost.Megatron, Class: p.Class()},
		Training: &cost.Training{
			Profile: p, Device: d, Strategy: cost.Strategy{Tensor: tensor, Pipeline: stages}, Replicas: devices / (tensor * stages),
			Batch: r[7], MicroBatch: 1, Sequence: 2048, Checkpointing: true,
		},
	}, nil
}
