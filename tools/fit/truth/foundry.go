package truth

import (
	"fmt"
	"strings"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/pkg/cost"
)

// foundry reads a row of LLM Foundry's table: an MPT model, which has GPT-2's shape with a table for each position, trained with FSDP on nodes
// of eight devices. Its section says what an A100 node sends; an H100 node has eight adapters of 400 Gbit/s.
func foundry(_ *library, r record) ([]Observation, error) {
	if r["sharding"] != "FULL_SHARD" {
		return nil, fmt.Errorf("sharding %q: only FULL_SHARD is known", r["sharding"])
	}
	sequence, devices := r.whole("sequence"), r.whole("gpus")
	m, err := gpt("MPT-"+r["model"], r, r.whole("vocab"), true, sequence)
	if err != nil {
		return nil, err
	}
	network := 25e9
	switch {
	case strings.HasPrefix(r["section"], "H100"):
		network = 50e9
	case strings.Contains(r["section"], "800 Gbps"):
		network = 12.5e9
	}
	recompute := v1alpha1.RecomputeNone
	if r["activation_checkpointing"] == "true" {
		recompute = v1alpha1.RecomputeFull
	}
	o, err := job("llm-foundry", m, r["gpu"], devices, network, cost.Torch, cost.Training{
		Replicas: devices, Local: min(devices, perNode), Batch: r.number("global_batch"), MicroBatch: r.number("micro_batch"), Sequence: float64(sequence),
		Recompute: recompute, Sharding: "FSDP", FP8: strings.Contains(r["precision"], "fp8"),
	})
	if err != nil {
		return nil, err
	}
	o.Cell = fmt.Sprintf("%s %s × %d, %d × %d tokens %s", o.Model, o.GPU, devices, r.whole("micro_batch"), sequence, r["precision"])
	o.Measured = r.number("tokens_per_second") * o.Training.Operations() / (o.Training.Batch * o.Training.Sequence) / float64(devices)
	return []Observation{o}, nil
}
