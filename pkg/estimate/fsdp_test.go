package estimate

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/rankwright/rankwright/api/v1alpha1"
	"github.com/rankwright/rankwright/internal/facts"
	"github.com/rankwright/rankwright/pkg/model"
	bar "github.com/rankwright/rankwright/test/figure"
)

// mpt is a row of LLM Foundry's table: a model of GPT-2's shape with a table for each position, trained with FSDP.
type mpt struct {
	Section    string
	Name       string `json:"model"`
	Hidden     int32
	Heads      int32
	Layers     int32
	Vocabulary int32 `json:"vocab"`
	Sequence   int32
	Devices    int `json:"gpus"`
	GPU        string
	MicroBatch int32   `json:"micro_batch"`
	Batch      int32   `json:"global_batch"`
	Rate       float64 `json:"tokens_per_second"`
	Precision  string
	Sharding   string
	Checkpoint bool  `json:"activation_checkpointing"`
	Parameters int64 `json:"parameters"`
}

func (r *mpt) String() string {
	return fmt.Sprintf("%s of %d tokens × %d on %d × %s, %s, checkpoints %t", r.Name, r.Sequence, r.MicroBatch, r.Devices, r.GPU, r.Precision, r.Checkpoint)
}

func (r *mpt) training(t *testing.T, engine string) Training {
	t.Helper()
	m, err := model.FromArchitecture("MPT-"+r.Name, v1alpha1.Architecture{
		Layers: r.Layers, HiddenSize: r.Hidden, VocabSize: r.Vocabulary, TiedEmbeddings: true, NormBias: true, Positions: r.Sequence,
		Attention: v1alpha1.Attention{Heads: r.Heads, KVHeads: r.Heads, HeadDim: r.Hidden / r.Heads, QKVBias: true, OutputBias: true},
		MLP:       v1alpha1.MLP{IntermediateSize: 4 * r.Hidden, Ungated: true, Bias: true},
	})
	if err != nil {
		t.Fatal(err)
	}
	if m.Parameters() != r.Parameters {
		t.Errorf("%s: %d parameters, the table has %d", r, m.Parameters(), r.Parameters)
	}
	gpu := map[string]string{"h100_80gb": "H100", "a100_80gb": "A100-SXM4-80GB", "a100_40gb": "A100-SXM4-40GB"}[r.GPU]
	d := deployed(t, "Llama-3.1-8B", gpu, engine, "BF16")
	d.Model, d.Replicas, d.NetworkGbps = m, r.Devices, 200
	if strings.HasPrefix(r.GPU, "h100") {
		d.NetworkGbps = 400
	}
	return Training{Deployment: d, Workload: v1alpha1.TrainingWorkload{
		SequenceLength: r.Sequence, GlobalBatch: r.Batch, MicroBatch: r.MicroBatch, ActivationCheckpointing: r.Checkpoint, Sharding: "FSDP",
		Compute: map[string]v1alpha1.Precision{"amp_fp8": v1alpha1.FP8}[r.Precision],
	}}
}

// TestFSDP: every configuration of LLM Foundry's table ran, so all must fit, and whatever engine is said to run FSDP, as fast as it was measured.
func TestFSDP(t *testing.T) {
	var file struct{ Rows []mpt }
	facts.Decode(t, "truth/llm_foundry_training.json", &file)
	for _, engine := range []string{"PyTorch", "Megatron"} {
		subject := "LLM Foundry, FSDP with " + engine
		fit, fullest := 0, 0.0
		var off []float64
		for i := range file.Rows {
			r := &file.Rows[i]
			got, err := Train(r.training(t, engine))
			if err != nil {
				t.Errorf("%s: %v", r, err)
				continue
			}
			if !got.Fits {
				t.Errorf("%s ran, and does not fit: %s", r, got.Reason)
				continue
			}
			fit++
			fullest = max(fullest, float64(got.Memory.Total)/float64(got.Stages[0].Available))
			off = append(off, math.Abs(*got.TokensPerSecond/r.Rate-1))
		}
		bar.All(subject, "configurations that ran and fit", fit, len(file.Rows), 70).Hold(t)
		bar.Report(subject, "memory of the fullest", fmt.Sprintf("%.0f %% of what is free", 100*fullest)).Hold(t)
		bar.Percent(subject, "tokens per second, median error", median(off), 0.08, len(off)).Hold(t)
	}
}
