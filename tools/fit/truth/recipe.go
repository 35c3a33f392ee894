package truth

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/cost"
)

// recipe reads a row of published recipes: a model of the catalogue on nodes with an adapter of 400 Gbit/s for each device. What is computed
// again is nothing where a row does not say it. Tensor ranks share out tokens.
func recipe(l *library, r record) ([]Observation, error) {
	m, err := l.model(r["model"])
	if err != nil {
		return nil, err
	}
	const network = 50e9
	engine, island := cost.Torch, perNode
	if r["engine"] == "Megatron" {
		engine = cost.Megatron
	}
	if strings.HasPrefix(r["gpu"], "GB") {
		island = perRack
	}
	devices, tensor, stages, context := r.whole("gpus"), r.whole("tp"), r.whole("pp"), r.whole("cp")
	data := devices / (tensor * stages * context)
	of := cost.Training{
		Strategy: cost.Strategy{Tensor: tensor, Pipeline: stages, Expert: r.whole("ep")}, Replicas: data, Context: context,
		Local: min(data*context, max(1, min(island, devices)/tensor)),
		Batch: r.number("global_batch"), MicroBatch: r.number("micro_batch"), Sequence: r.number("sequence"),
		Recompute: v1alpha1.Recompute(cmp.Or(r["recompute"], string(v1alpha1.RecomputeNone))), Sharding: v1alpha1.TrainingSharding(r["sharding"]),
		SequenceParallel: tensor > 1, Virtual: r.whole("vp"), FP8: r["precision"] == "fp8", Fused: engine == cost.Megatron,
	}
	o, err := job("recipes", m, r["gpu"], devices, network, engine, of)
	if err != nil {
		return nil, err
	}
	if wide := r.number("bandwidth_gbs"); wide > 0 {
		o.Training.Device.Bandwidth = wide * 1e9
	}
	if tensor*context <= island {
		o.Training.ContextRate = o.Training.Device.Link
	}
	if devices <= island {
		o.Training.Device.Network = o.Training.Device.Link
	}
	o.Untold = true
	o.Cell = fmt.Sprintf("%s %s × %d %s", o.Model, o.GPU, devices, r["precision"])
	o.Measured = r.number("tokens_per_gpu") * o.Training.Operations() / (o.Training.Batch * o.Training.Sequence)
	return []Observation{o}, nil
}

// perRack is the number of devices of a rack that NVLink joins.
const perRack = 72
